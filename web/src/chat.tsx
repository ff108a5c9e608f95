// The window into the global chat: what agents said first is there, and the question that waits is
// above the box.

import { useEffect, useRef } from "preact/hooks"
import { Box } from "./box.tsx"
import { begin, chat, followChat, hasEarlier, loadEarlier, post, wasRead } from "./chat.ts"
import type { ChatMessage } from "./chat.ts"
import { draftOf } from "./drafts.ts"
import { Earlier, Scroll } from "./scroll.tsx"
import { attempt } from "./store.ts"
import { Text } from "./text.tsx"
import { memo } from "./ui.tsx"
import { CHAT_HASH, whileInView } from "./windows.ts"
import { clock, t, visible } from "./words.ts"

export function ChatWindow() {
  useEffect(() => {
    begin()
    return whileInView(followChat)
  }, [])
  const { messages, question, why } = chat
  const say = useSay()
  if (why !== "") return <Failed why={why} />
  return (
    <>
      <Scroll label={t("chat_label")} first={String(messages[0]?.id ?? 0)}>
        <p class="note chat-note">{t("chat_memory")} {chat.isPolled && t("chat_polled")}</p>
        {chat.isRestarted && <p class="banner" role="status">{t("chat_restarted")}</p>}
        {hasEarlier() && <Earlier load={() => attempt(loadEarlier)} />}
        {!hasEarlier() && chat.oldest > 1 && <p class="note chat-note">{t("chat_dropped", { first: chat.oldest })}</p>}
        {!chat.isRead && <p class="note" role="status">{t("loading")}</p>}
        {chat.isRead && messages.length === 0 && <p class="empty">{t("chat_empty")}</p>}
        {messages.map((message, at) => (
          <Row key={message.id} message={message} before={messages[at - 1]?.id} canGo={(message.meta?.reply_to ?? 0) >= (messages[0]?.id ?? 0)} />
        ))}
      </Scroll>
      <div class="foot">
        {question && (
          <section class="pinned" aria-label={t("chat_question_label")}>
            <h2>{t("chat_asks", { asker: visible(question.asker) })}
              {question.waiting > 0 && <span class="mark is-waits">{t("chat_waiting", { count: question.waiting })}</span>}</h2>
            <p tabindex={0}>{visible(question.text)}</p>
          </section>
        )}
        <Box place={CHAT_HASH} label={question ? t("chat_answer") : t("chat_box")} onSend={say} />
      </div>
    </>
  )
}

/** Posts a text, but first asks once if it was begun while another question was above the box, or none. */
function useSay() {
  const about = useRef<{ question: number | undefined } | undefined>(undefined)
  if (draftOf(CHAT_HASH).text === "") about.current = { question: chat.question?.id }
  return async (text: string) => {
    const { question } = about.current ?? { question: chat.question?.id }
    about.current = undefined
    // A window that was left keeps the text in its box.
    if (!(await wasRead())) return ""
    return question === chat.question?.id ? post(text) : t("chat_changed")
  }
}

function Failed({ why }: { why: string }) {
  return (
    <div class="thread-box middle" role="alert">
      <p>{visible(why)}</p>
      <button type="button" class="primary" onClick={() => location.reload()}>{t("try_again")}</button>
    </div>
  )
}

const Row = memo(({ message, before, canGo }: { message: ChatMessage; before: number | undefined; canGo: boolean }) => {
  const { id, role, author, text, ts, meta } = message
  const replyTo = meta?.reply_to
  return (
    <>
      {before !== undefined && id !== before + 1 && <p class="note chat-note">{t("chat_gap", { count: id - before - 1 })}</p>}
      <article class={`chat-row is-${role}`} id={`chat-${id}`}>
        <p class="chat-head">
          <b>{role === "user" ? t("chat_you") : visible(author)}</b>
          {replyTo !== undefined && (canGo ? <a href={`#chat-${replyTo}`} onClick={(event) => (event.preventDefault(), goTo(replyTo))}>
            {t("chat_answers", { id: String(replyTo) })}</a> : <span class="facts">{t("chat_answers", { id: String(replyTo) })}</span>)}
          <span class="facts">{`#${id}`}</span>
          <time class="facts" dateTime={ts}>{clock(ts)}</time>
        </p>
        {role === "agent" ? <Text text={text} isLive={false} /> : <p class="chat-text">{visible(text)}</p>}
      </article>
    </>
  )
})

/** Shows a message of the window. */
function goTo(id: number) {
  document.getElementById(`chat-${id}`)?.scrollIntoView({ block: "center" })
}
