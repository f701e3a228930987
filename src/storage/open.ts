/** Opens the stores a hub stands on: `memory:`, `file:`, `file:/some/directory`. */
import path from 'node:path'
import { TurnbellError } from '../contracts/errors.ts'
import type { Clock } from '../ports/clock.ts'
import type { EventLog } from '../ports/event-log.ts'
import type { Log } from '../ports/log.ts'
import type { RecordStore } from '../ports/record-store.ts'
import type { SignalStore } from '../ports/signal-store.ts'
import { createMemoryEventLog } from './memory/event-log.ts'
import { createMemoryRecordStore } from './memory/record-store.ts'
import { createMemorySignalStore } from './memory/signal-store.ts'

export interface Stores {
  signals: SignalStore
  records: RecordStore
  events: EventLog
  /** Flushes all three and lets go of the directory. Calling it twice is fine. */
  close(): Promise<void>
}

export interface StoreOptions {
  clock: Clock
  log: Log
  /** What `file:` without a path means: `home.hub_dir`. */
  hub_dir: string
  /**
   * Called once when the store can promise nothing any more: a write or sync failed, another hub took the
   * directory. Every later change is refused; the hub should say so and stop.
   */
  onFatal?: (error: TurnbellError) => void
}

/**
 * @throws `config_invalid` for a URI it does not know, `already_running` when another process owns the
 * directory, `home_not_permitted` when it cannot be used, `store_damaged` naming file and byte offset.
 */
export async function openStores(uri: string, options: StoreOptions): Promise<Stores> {
  if (uri === 'memory:') return openMemory(options)
  if (uri.startsWith('file:')) return openDirectory(uri, options)
  throw new TurnbellError('config_invalid', {
    detail: `hub.store: ${uri} cannot be opened by this version; found neither memory: nor file:`,
    hint: 'Use file: (the default) or memory:.',
  })
}

function openMemory({ clock }: StoreOptions): Stores {
  const signals = createMemorySignalStore(clock)
  const events = createMemoryEventLog(clock)
  return {
    signals,
    records: createMemoryRecordStore(),
    events,
    async close() {
      await signals.close()
      await events.close()
    },
  }
}

async function openDirectory(uri: string, { hub_dir }: StoreOptions): Promise<Stores> {
  const named = uri.slice('file:'.length).replace(/^\/\//, '')
  const directory = named === '' ? hub_dir : path.resolve(named)
  throw new TurnbellError('store_unavailable', { detail: `${directory}: the file store is not built yet` })
}
