/** Appends a hook's lines to the spool. A hook has no time to wait for a hub. */
import { appendSpoolLine, type SpoolEntry, type SpoolWriter } from '../../system/files/spool-writer.ts'

interface Invoked {
  cli: Pick<SpoolWriter, 'ids' | 'clock'>
  home: SpoolWriter['home']
}

/** Drops the line if the spool is full. */
export function appendToSpool({ cli: { ids, clock }, home }: Invoked, entry: SpoolEntry): void {
  appendSpoolLine({ ids, clock, home }, entry)
}
