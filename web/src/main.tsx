// The page begins here.

import { render } from "preact"
import { removeNow } from "./actions.ts"
import { App, Boundary } from "./app.tsx"
import { waitingCount } from "./approvals.tsx"
import { compose, leaveSession, onVisibility, open, sessionOfAddress, start } from "./live.ts"
import { changed, onChange, set, state } from "./store.ts"
import { applyTheme } from "./theme.ts"
import { copy } from "./ui.tsx"
import { windowOfAddress } from "./windows.ts"
import { t } from "./words.ts"

const root = document.getElementById("page")

function draw() {
  if (!root) return
  render(<Boundary><App /></Boundary>, root)
  const count = waitingCount()
  const title = count > 0 ? t("title_waiting", { count }) : t("title")
  if (document.title !== title) document.title = title
}

applyTheme()
onChange(draw)
draw()
void start()

addEventListener("popstate", () => {
  // A new link in the same window changes the address behind the # alone.
  if (location.hash.startsWith("#login=")) {
    set({ phase: "starting", view: undefined })
    return void start()
  }
  if (state.phase !== "ready") return
  if (windowOfAddress()) return leaveSession()
  const id = sessionOfAddress()
  if (id === state.current) return changed()
  // A session that is being deleted is not opened by going back.
  if (id !== undefined && state.hidden.has(id)) {
    history.replaceState(null, "", location.pathname)
    return compose()
  }
  if (id === undefined) compose()
  else void open(id)
})
addEventListener("pagehide", removeNow)
document.addEventListener("visibilitychange", onVisibility)
addEventListener("online", onVisibility)
document.addEventListener("click", (event) => {
  const button = (event.target as HTMLElement).closest<HTMLElement>("[data-copy]")
  const code = button?.closest(".code")?.querySelector("code")?.textContent
  if (!button || code === null || code === undefined) return
  copy(code, () => {
    button.textContent = t("copied")
    setTimeout(() => { button.textContent = t("copy") }, 1_500)
  })
})
