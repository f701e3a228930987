/** Text in the form in which a database returns it again. */

/**
 * Returns the text with NUL and unpaired surrogates replaced by U+FFFD. Otherwise libsql would return an id that differs
 * from the one that was written; PostgreSQL rejects such text.
 */
export function storableText(text: string): string {
  const wellFormed = text.isWellFormed() ? text : text.toWellFormed()
  return wellFormed.includes('\0') ? wellFormed.replaceAll('\0', '\uFFFD') : wellFormed
}

/** Applies `storableText` to the text fields of a row. Returns the row itself if nothing changes. */
export function storableRow<Row extends object>(row: Row): Row {
  let result: Row | null = null
  for (const name of Object.keys(row) as (keyof Row)[]) {
    const value = row[name]
    if (typeof value !== 'string') continue
    const stored = storableText(value)
    if (stored !== value) result = { ...(result ?? row), [name]: stored }
  }
  return result ?? row
}
