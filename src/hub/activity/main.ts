/** The activity thread of the hub: opens the database and answers the calls of `activity-thread.ts`. Composition root. */
import { parentPort, workerData } from 'node:worker_threads'
import { TurnbellError } from '../../contracts/errors/errors.ts'
import { createActivity } from '../../modules/activity/service.ts'
import type { Activity } from '../../modules/activity/types.ts'
import type { Log } from '../../ports/log.ts'
import { openActivityStore } from '../../storage/sqlite/activity/activity-store.ts'
import { systemClock } from '../../system/clock.ts'
import { createIds, systemRandom } from '../../system/random.ts'
import { createRedactor } from '../../system/redaction/redactor.ts'
import type { ThreadError, ThreadMessage, ThreadRequest, ThreadSettings } from './thread-messages.ts'

const port = parentPort
if (port === null) throw new Error('this file runs as a thread of the hub')
const post = (message: ThreadMessage) => port.postMessage(message)

const logged =
  (level: 'info' | 'warn' | 'error') =>
  (fields: object, message = ''): void =>
    post({ log: level, fields: plain(fields), message })
const log: Log = {
  debug: () => undefined,
  info: logged('info'),
  warn: logged('warn'),
  error: logged('error'),
}

/** Opened by the first call, and by the next one after a failure: the disk may have recovered. */
let opened: Promise<Activity> | null = null

port.on('message', (request: ThreadRequest) => void answer(request))

async function answer({ id, method, input }: ThreadRequest): Promise<void> {
  try {
    opened ??= open().catch((error: unknown) => {
      opened = null
      throw error
    })
    const activity = await opened
    const call = activity[method] as (input: unknown) => Promise<unknown>
    post({ id, result: await call(input) })
  } catch (error) {
    post({ id, error: errorOf(error) })
  }
}

async function open(): Promise<Activity> {
  const { file, ...settings } = workerData as ThreadSettings
  const store = await openActivityStore({ file, log })
  return createActivity({
    store,
    redactor: createRedactor(),
    settings,
    clock: systemClock,
    ids: createIds(systemClock, systemRandom),
    log,
  })
}

function errorOf(error: unknown): ThreadError {
  if (error instanceof TurnbellError) {
    const { code, detail, hint } = error
    return { code, detail, hint }
  }
  return { code: null, stack: error instanceof Error ? (error.stack ?? error.message) : String(error) }
}

/** Errors are not copied as objects between threads. */
function plain(fields: object): object {
  return Object.fromEntries(
    Object.entries(fields).map(([name, value]) => [
      name,
      value instanceof Error ? (value.stack ?? value.message) : (value as unknown),
    ]),
  )
}
