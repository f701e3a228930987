/** Opens the stores a hub stands on: `memory:`, `file:`, `file:/some/directory`. */
import fs from 'node:fs'
import path from 'node:path'
import { TurnbellError } from '../contracts/errors.ts'
import type { Clock } from '../ports/clock.ts'
import type { EventLog } from '../ports/event-log.ts'
import type { Log } from '../ports/log.ts'
import type { RecordStore } from '../ports/record-store.ts'
import type { SignalStore } from '../ports/signal-store.ts'
import { closeEach } from '../system/close-each.ts'
import { lockDirectory, type DirectoryLock } from '../system/directory-lock.ts'
import { ensurePrivateDirectory } from '../system/home.ts'
import { codeOf, type Disk } from './file/disk.ts'
import { openFileEventLog } from './file/event-log.ts'
import { createFileRecordStore } from './file/record-store.ts'
import { refusalOf } from './file/refusal.ts'
import { repairJournal } from './file/repair.ts'
import type { FileSignalStore } from './file/signal-calls.ts'
import { openFileSignalStore } from './file/signal-store.ts'
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
  /** Sets aside what is damaged in the journal before opening it, instead of refusing. */
  repair?: boolean
  /** What the journal stands on instead of the system's files; only benchmarks and tests bring their own. */
  disk?: Disk
  /** So small that files end and others begin within a test. */
  sizes?: { segment_bytes_max?: number; events_max?: number }
  /**
   * Called when the store can promise nothing any more, and every later change is refused. At most once because a write
   * or sync failed: the hub says so until it is told `onWritable`. At most once because another hub took the directory
   * (`store_fenced`), be it after that: the hub should stop. Then nothing more is told.
   */
  onFatal?: (error: TurnbellError) => void
  /** Called at most once, after a write or sync had failed: whoever closes these stores and opens them again can write. */
  onWritable?: () => void
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

async function openDirectory(uri: string, options: StoreOptions): Promise<Stores> {
  const { clock, log, hub_dir, sizes: { segment_bytes_max, events_max } = {} } = options
  const named = uri.slice('file:'.length).replace(/^\/\//, '')
  const directory = named === '' ? hub_dir : path.resolve(named)
  ensurePrivateDirectory(directory)

  const fatal = untilTaken((error: TurnbellError) => {
    log.error({ err: error }, 'the store takes no more changes')
    options.onFatal?.(error)
  })
  let signals: FileSignalStore | null = null
  // Not the home's own lock, which the hub holds already: two homes may name the same directory.
  const lock = await lockDirectory({
    lock: path.join(directory, 'store.lock'),
    what: 'a hub',
    onLost(cause) {
      const error = new TurnbellError('store_fenced', {
        detail: `the lock of ${directory} was taken away: ${cause.message}`,
        cause,
      })
      signals?.fence(error)
      fatal(error)
    },
  }).catch((error: unknown) => {
    throw explained(withAddress(error, directory), directory)
  })
  let events: EventLog | null = null
  try {
    for (const file of options.repair === true ? repairJournal(directory) : []) {
      log.warn(file, 'damaged lines were taken out of the journal and kept aside')
    }
    signals = await openFileSignalStore({
      directory,
      clock,
      ...(options.disk === undefined ? {} : { disk: options.disk }),
      ...(segment_bytes_max === undefined ? {} : { segment_bytes_max }),
      onCut: (notice) =>
        log.warn(notice, 'the journal ended in a torn write, which was cut off and kept aside'),
      onFatal: fatal,
      ...(options.onWritable === undefined ? {} : { onWritable: options.onWritable }),
    })
    events = openFileEventLog({
      directory: path.join(directory, 'events'),
      clock,
      ...(events_max === undefined ? {} : { events_max }),
      onFailed: (err) => log.error({ err }, 'events are kept in memory only from now on'),
    })
    const journal = signals
    const records = createFileRecordStore({
      directory: path.join(directory, 'records'),
      onRejected: (notice) => log.warn(notice, 'a file that is no record is set aside, or else passed over'),
      mayChange: () => journal.checkOwned(),
    })
    return { signals, records, events, close: closing(signals, events, lock) }
  } catch (error) {
    await closing(signals, events, lock)().catch((err: unknown) =>
      log.warn({ err }, 'the store that did not open could not be closed'),
    )
    throw explained(error, directory)
  }
}

function closing(
  signals: SignalStore | null,
  events: EventLog | null,
  lock: DirectoryLock,
): () => Promise<void> {
  let closed: Promise<void> | null = null
  return () => (closed ??= closeEach([() => events?.close(), () => signals?.close(), () => lock.release()]))
}

/** The first failure, and then only that another hub has the directory, which is the last word. */
function untilTaken(call: (error: TurnbellError) => void): (error: TurnbellError) => void {
  let told: TurnbellError | null = null
  return (error) => {
    if (told?.code === 'store_fenced' || (told !== null && error.code !== 'store_fenced')) return
    told = error
    call(error)
  }
}

/** The holder's address, where it has said so: the reader can use that hub instead. */
function withAddress(error: unknown, directory: string): unknown {
  if (!(error instanceof TurnbellError) || error.code !== 'already_running') return error
  const url = addressIn(path.join(directory, 'hub.pid'))
  if (url === null) return error
  return new TurnbellError('already_running', {
    detail: `${error.detail}, at ${url}`,
    hint: `Use that hub, or stop it first: it answers at ${url}.`,
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

/** What the system says about a directory, in words for the one who must mend it. */
function explained(error: unknown, directory: string): unknown {
  const code = codeOf(error)
  if (error instanceof TurnbellError || code === undefined) return error
  const detail = `${directory} cannot be used`
  if (code !== 'EACCES' && code !== 'EPERM' && code !== 'EROFS') return refusalOf(error, detail)
  return new TurnbellError('home_not_permitted', {
    detail: `${detail}: ${String(error)}`,
    hint: 'The directory and everything in it must be writable and belong to you.',
    cause: error,
  })
}
