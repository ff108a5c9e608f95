// What the unit tests load: modules that share one state.
export * as actions from "../src/actions.ts"
export * as api from "../src/api.ts"
export * as drafts from "../src/drafts.ts"
export * as outcome from "../src/outcome.ts"
export * as rights from "../src/rights.ts"
export * as store from "../src/store.ts"
