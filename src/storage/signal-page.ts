/** One page of what a query of signals finds. */
import type { SignalView } from '../contracts/signal.ts'
import type { SignalPage, SignalQuery } from '../ports/signal-store.ts'

/** `takes` what is found, in order; it answers false for what no longer fits and begins the next page. */
export function openPage({ limit, bytes_max = Infinity, bytesOf = jsonBytes }: SignalQuery): {
  page: SignalPage
  takes: (view: SignalView) => boolean
} {
  const page: SignalPage = { signals: [], next: null }
  const { signals } = page
  let bytes = 0
  function takes(view: SignalView): boolean {
    if (bytes_max < Infinity) bytes += bytesOf(view)
    const fits = signals.length < limit && (bytes <= bytes_max || signals.length === 0)
    if (fits) signals.push(view)
    else page.next = signals.at(-1)?.seq ?? null
    return fits
  }
  return { page, takes }
}

/** With the comma behind it. */
function jsonBytes(view: SignalView): number {
  return Buffer.byteLength(JSON.stringify(view)) + 1
}
