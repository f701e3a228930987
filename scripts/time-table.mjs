/** Formats a table of the durations of a long command. */

/** Returns one line for each row `{name, seconds, failed?, note?}`, in order, and their sum. */
export function timeTable(rows) {
  const width = Math.max(5, ...rows.map(({ name }) => name.length))
  const total = rows.reduce((sum, { seconds }) => sum + seconds, 0)
  const line = ({ name, seconds, failed = false, note = '' }) =>
    `${failed ? 'FAIL' : 'ok  '}  ${name.padEnd(width)}  ${clock(seconds)}  ${note.slice(0, 100)}`.trimEnd()
  return [...rows.map(line), `      ${'total'.padEnd(width)}  ${clock(total)}`].join('\n')
}

/** Minutes and seconds, such as ` 3:07`. */
export function clock(seconds) {
  const whole = Math.round(seconds)
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`.padStart(6)
}
