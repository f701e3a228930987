/** Collects one page of a signal query. */
import type { SignalView } from '../contracts/signal.ts'
import type { SignalPage, SignalQuery } from '../ports/signal-store.ts'

/** Pass matches to `takes` in order. It returns false for the first match that no longer fits on the page. */
export function openPage({ limit, bytes_max = Infinity }: SignalQuery): {
  page: SignalPage
  takes: (view: SignalView) => boolean
} {
  const page: SignalPage = { signals: [], next: null }
  const { signals } = page
  let bytes = 0
  function takes(view: SignalView): boolean {
    if (bytes_max < Infinity) bytes += jsonBytes(view)
    const fits = signals.length < limit && (bytes <= bytes_max || signals.length === 0)
    if (fits) signals.push(view)
    else page.next = signals.at(-1)?.seq ?? null
    return fits
  }
  return { page, takes }
}

/** Size of the JSON text with its comma. */
function jsonBytes(view: SignalView): number {
  return Buffer.byteLength(JSON.stringify(view)) + 1
}
