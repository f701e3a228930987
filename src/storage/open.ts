/** Opens the stores of a hub by URI: `memory:`, `file:`, `file:/some/directory`. */
import fs from 'node:fs'
import path from 'node:path'
import { TurnbellError } from '../contracts/errors/errors.ts'
import type { Clock } from '../ports/clock.ts'
import type { EventLog } from '../ports/event-log.ts'
import type { Log } from '../ports/log.ts'
import type { RecordStore } from '../ports/record-store.ts'
import type { SignalStore } from '../ports/signal-store.ts'
import { closeInOrder } from '../system/files/close-all.ts'
import { takeOwnerLock, type OwnerLock } from '../system/files/owner-lock.ts'
import { ensurePrivateDirectory } from '../system/config/home.ts'
import { diskHint } from '../system/files/system-error.ts'
import { readCompleteness, type Completeness } from './file/journal/completeness.ts'
import { codeOf, systemDisk, type Disk } from './file/journal/disk.ts'
import { openFileEventLog } from './file/events/event-log.ts'
import { createFileRecordStore } from './file/records/record-store.ts'
import { describeGivenUp, giveUpLost } from './file/signals/give-up.ts'
import { toStoreError } from './file/journal/disk-errors.ts'
import { repairJournal } from './file/signals/repair.ts'
import type { FileSignalStore } from './file/signals/signal-operations.ts'
import { openFileSignalStore } from './file/signals/signal-store.ts'
import { createMemoryEventLog } from './memory/event-log.ts'
import { createMemoryRecordStore } from './memory/record-store.ts'
import { createMemorySignalStore } from './memory/signal-store.ts'

export interface Stores {
  signals: SignalStore
  records: RecordStore
  events: EventLog
  /** Flushes all three and releases the directory. May be called twice. */
  close(): Promise<void>
}

export interface StoreOptions {
  clock: Clock
  log: Log
  /** Directory of a `file:` URI without a path: `home.hub_dir`. */
  hub_dir: string
  /** Quarantines damaged parts of the journal before opening it, instead of failing. */
  repair?: boolean
  /** Disk of the journal. Default: the system's files. Set by benchmarks and tests. */
  disk?: Disk
  /** Sizes small enough that a test fills several files. */
  sizes?: { segment_bytes_max?: number; events_max?: number }
  /**
   * Called when the store rejects all further changes. At most once after a failed write or sync; the hub reports that until
   * `onWritable`. At most once, possibly after that, because another hub took the directory (`store_fenced`); the hub
   * should then stop. No call follows a `store_fenced`.
   */
  onFatal?: (error: TurnbellError) => void
  /** Called at most once after a failed write or sync, when stores that are closed and reopened could write again. */
  onWritable?: () => void
}

/**
 * @throws `config_invalid` for an unknown URI, `already_running` when another process owns the
 * directory, `home_not_permitted` when it cannot be used, `store_damaged` naming file and byte offset.
 */
export async function openStores(uri: string, options: StoreOptions): Promise<Stores> {
  if (uri === 'memory:') return openMemory(options)
  if (uri.startsWith('file:')) return openDirectory(uri, options)
  throw new TurnbellError('config_invalid', {
    detail: `hub.store: ${uri} is not supported; it starts with neither memory: nor file:`,
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

async function openDirectory(uri: string, options: StoreOptions): Promise<Stores> {
  const { clock, log, hub_dir, sizes: { segment_bytes_max, events_max } = {} } = options
  const uri_path = uri.slice('file:'.length).replace(/^\/\//, '')
  const directory = uri_path === '' ? hub_dir : path.resolve(uri_path)
  ensurePrivateDirectory(directory)

  const fatal = firstErrorThenFenced((error: TurnbellError) => {
    log.error({ err: error }, 'store is read-only: write failed')
    options.onFatal?.(error)
  })
  let signals: FileSignalStore | null = null
  // In addition to the home's lock, because two homes may use the same store directory.
  const lock = await takeOwnerLock({
    lock: path.join(directory, 'store.lock'),
    what: 'a hub',
    onRetaken: (err) => log.warn({ err }, 'lock of the store was removed and reacquired'),
    onLost(cause) {
      const error = new TurnbellError('store_fenced', {
        detail: `the lock of ${directory} was lost: ${cause.message}`,
        cause,
      })
      signals?.fence(error)
      fatal(error)
    },
  }).catch((error: unknown) => {
    throw toOpenError(withAddress(error, directory), directory)
  })
  let events: EventLog | null = null
  try {
    if (options.repair === true) repair(directory, log)
    signals = await openFileSignalStore({
      directory,
      clock,
      ...(options.disk === undefined ? {} : { disk: options.disk }),
      ...(segment_bytes_max === undefined ? {} : { segment_bytes_max }),
      onCut: (notice) => log.warn(notice, 'torn write at the end of the journal cut off and kept in a file'),
      onFatal: fatal,
      ...(options.onWritable === undefined ? {} : { onWritable: options.onWritable }),
    })
    events = openFileEventLog({
      directory: path.join(directory, 'events'),
      clock,
      ...(events_max === undefined ? {} : { events_max }),
      onFailed: (err) => log.error({ err }, 'event log cannot be written; events are kept in memory only'),
    })
    const journal = signals
    const records = createFileRecordStore({
      directory: path.join(directory, 'records'),
      onRejected: (notice) => log.warn(notice, 'invalid record file quarantined or ignored'),
      mayChange: () => journal.checkOwned(),
    })
    return { signals, records, events, close: createClose(signals, events, lock) }
  } catch (error) {
    await createClose(signals, events, lock)().catch((err: unknown) =>
      log.warn({ err }, 'closing the store failed after a failed open'),
    )
    throw toOpenError(error, directory)
  }
}

function repair(directory: string, log: Log): void {
  const { missing, segments } = completenessBefore(directory)
  const repaired = repairJournal(directory)
  for (const file of repaired) {
    log.warn(file, 'damaged journal lines quarantined')
  }
  const last = segments.at(-1)?.file
  const end_was_damaged = missing !== null || repaired.some(({ file }) => file === last)
  const given_up = giveUpLost(directory, systemDisk, end_was_damaged)
  if (given_up !== null) log.warn(given_up, describeGivenUp(given_up))
}

/** Reads the completeness before the repair. A segment that is not a file counts as missing. */
function completenessBefore(directory: string): Pick<Completeness, 'segments'> & { missing: object | null } {
  try {
    return readCompleteness(systemDisk, directory)
  } catch (error) {
    if (!(error instanceof TurnbellError)) throw error
    return { missing: error, segments: [] }
  }
}

function createClose(
  signals: SignalStore | null,
  events: EventLog | null,
  lock: OwnerLock,
): () => Promise<void> {
  let closed: Promise<void> | null = null
  return () =>
    (closed ??= closeInOrder([() => events?.close(), () => signals?.close(), () => lock.release()]))
}

/** Forwards the first error, and after it only one `store_fenced`. */
function firstErrorThenFenced(call: (error: TurnbellError) => void): (error: TurnbellError) => void {
  let last: TurnbellError | null = null
  return (error) => {
    if (last?.code === 'store_fenced' || (last !== null && error.code !== 'store_fenced')) return
    last = error
    call(error)
  }
}

/** Adds the running hub's address to `already_running`, so that the reader can use that hub. */
function withAddress(error: unknown, directory: string): unknown {
  if (!(error instanceof TurnbellError) || error.code !== 'already_running') return error
  const url = addressIn(path.join(directory, 'hub.pid'))
  if (url === null) return error
  return new TurnbellError('already_running', {
    detail: `${error.detail}, at ${url}`,
    hint: `Use the hub at ${url}, or stop it first.`,
    cause: error,
  })
}

function addressIn(file: string): string | null {
  try {
    const { url } = JSON.parse(fs.readFileSync(file, 'utf8')) as { url?: unknown }
    return typeof url === 'string' ? url : null
  } catch {
    return null
  }
}

/** Converts a system error of the directory to a TurnbellError with a hint for the operator. */
function toOpenError(error: unknown, directory: string): unknown {
  const code = codeOf(error)
  if (error instanceof TurnbellError || code === undefined) return error
  const detail = `${directory} cannot be used`
  if (code !== 'EACCES' && code !== 'EPERM' && code !== 'EROFS') return toStoreError(error, detail)
  return new TurnbellError('home_not_permitted', {
    detail: `${detail}: ${String(error)}`,
    hint: `${diskHint(code)}.`,
    cause: error,
  })
}
