/** The sentences of the page: those of `locales/en.json` that begin with `page.`. */
declare module "catalogue" {
  const sentences: Record<string, string | Record<string, string>>
  export default sentences
}
