/** The module without the client: what a session's hooks, its link and its doorbells share. */
import type { Timer } from '../../../src/ports/clock.ts'
import { bellSubmitter } from './bell-submitter.ts'
import type { EngineResponse, SubmitResult } from './engine.ts'
import { contentOf, type MakeContent } from './content.ts'
import { createEventQueue } from './event-queue.ts'
import { cut, given } from './fields.ts'
import type { ModEvent } from './messages.ts'
import { PROTOCOL } from './protocol.ts'
import { createRestoreCheck } from './restore-check.ts'
import { createScreen, type ScreenHost } from './screen.ts'
import { createToolFeed } from './tool-feed.ts'
import { createTurnFeed } from './turn-feed.ts'
import { createUnderWay } from './under-way.ts'
import { createWorkerClient } from './worker-client.ts'
import { createWorkerLink, type WorkerLink } from './worker-link.ts'
import { pointerFile, socketIn, type PlaceVariables } from './worker-place.ts'

/** Functions of the client. All but `after` may reject. */
export interface ModHost extends ScreenHost {
  interactive: boolean
  /** Working directory. */
  cwd?: string | undefined
  variables(): Promise<PlaceVariables>
  /** The process id of the client; undefined if the client does not provide it. */
  clientPid(): Promise<string | undefined>
  clientVersion(): Promise<string>
  sessionId(): Promise<string>
  /** Returns the conversation as it is sent to the model. */
  conversation(): Promise<readonly object[]>
  read(file: string): Promise<string>
  post(socket: string, request: string, body: string): Promise<EngineResponse>
  submit(text: string): Promise<SubmitResult>
  after: (delay_ms: number, call: () => void) => Timer
}

export interface ModOptions {
  /** Version of the plugin. */
  version: string
  /** Milliseconds since 1970. */
  now: () => number
}

/** The new id is known shortly after the end of the former session; as observed, within 150 ms. */
const ID_CHECKS_MS = [50, 250, 1_000]

export function createMod({ version, now }: ModOptions) {
  const queue = createEventQueue(now)
  let link: WorkerLink | null = null
  let host: ModHost | null = null

  const under_way = createUnderWay(now)
  const report = (event: ModEvent) => {
    under_way.note(event)
    queue.push(event)
    link?.flush()
  }

  const content: MakeContent = (make) => (queue.takesContent() ? contentOf(make) : undefined)
  const session = watchSession(() => host, report)
  const restoring = createRestoreCheck({
    conversation: () =>
      host === null || link?.attached() !== true
        ? Promise.reject(new Error('not attached'))
        : host.conversation(),
    report,
  })
  const turns = createTurnFeed({
    report,
    content,
    isBell: (prompt) => bells.isBell(prompt),
    mainTurnStarted: session.check,
    compacted: restoring.compacted,
    answered: restoring.answered,
    continues(reason) {
      restoring.forget()
      session.continues(reason)
      for (const delay_ms of ID_CHECKS_MS) host?.after(delay_ms, session.check)
    },
    ended: () => link?.end(),
  })
  const bells = bellSubmitter({
    submit: (text) => (host === null ? Promise.reject(new Error('not started')) : host.submit(text)),
    busy: turns.busy,
    report,
  })

  const screen = createScreen(() => host)

  async function connect(to: ModHost): Promise<void> {
    const pointer = pointerFile(await to.variables(), await to.clientPid())
    if (pointer === null) return queue.close()
    const client_version = await to.clientVersion()
    const client = createWorkerClient({
      locate: async () => socketIn(await to.read(pointer)),
      post: (socket, request, body) => to.post(socket, request, JSON.stringify(body)),
      async hello() {
        // Another worker may show nothing.
        screen.clear()
        const session_id = await session.id(to)
        const { interactive } = to
        const more = given({ cwd: to.cwd })
        // At one point in time.
        const turn = { busy: turns.busy(), turn: turns.turn() ?? undefined, past: queue.waiting() }
        const state = { ...turn, ...under_way.state() }
        return { protocol: PROTOCOL, version, client_version, interactive, session_id, ...more, ...state }
      },
      queue,
    })
    link = createWorkerLink({ client, queue, ring: bells.ring, screen, now, after: to.after })
    link.start()
  }

  return {
    turns,
    tools: createToolFeed({ report, content, now }),
    screen,

    /** Call it at the start of the session; it returns at once. */
    start(with_host: ModHost): void {
      if (host !== null) return
      host = with_host
      connect(with_host).catch(() => queue.close())
    },
  }
}

/** Reports the id under which the session continues. */
function watchSession(host: () => Pick<ModHost, 'sessionId'> | null, report: (event: ModEvent) => void) {
  /** Null before the first greeting, which contains the id. */
  let known: string | null = null
  /** Why the client continues under another id. */
  let reason: string | undefined

  async function check(): Promise<void> {
    const before = known
    const found = await host()?.sessionId()
    if (found === undefined || before === null || before !== known || found === before) return
    known = found
    report({ kind: 'session', session_id: found, ...given({ reason }) })
    reason = undefined
  }

  return {
    /** Returns the id for a greeting. */
    id: async (from: Pick<ModHost, 'sessionId'>) => (known = await from.sessionId()),
    continues: (why: string) => void (reason = cut(why)),
    check: () => void check().catch(() => {}),
  }
}
