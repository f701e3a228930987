/** Replaces the one place in a source file that a planted bug changes. */

/** Throws if the text is missing or not unique, because such a bug would test nothing. */
export function withBug({ name, file, find, replace }, text) {
  if (text.split(find).length !== 2)
    throw new Error(`mutant ${name}: ${file} has not exactly one ${JSON.stringify(find)}`)
  return text.replace(find, () => replace)
}
