// What a login may do, as the server decides it: what is not allowed has no button.

export type Right = "look" | "decide" | "use" | "own"

const SCOPES: Record<Right, string[]> = {
  look: ["read", "approve", "use", "admin"],
  decide: ["approve", "admin"],
  use: ["use", "admin"],
  own: ["admin"],
}

/** Whether a login of this scope has a right; one for a room of the relay has none here. */
export function covers(scope: unknown, right: Right): boolean {
  return typeof scope === "string" && SCOPES[right].includes(scope)
}
