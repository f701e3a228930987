/**
 * The module as one incarnation inside a simulated client: the product's own code, the client's functions for it, and its
 * requests to the worker, which may be late, lost or aborted. While the client's worker thread is blocked, nothing of the
 * module runs.
 */
import { createMod } from '../../../../adapters/claude-code/mod/mod.ts'
import type { EngineResponse, SubmitResult } from '../../../../adapters/claude-code/mod/engine.ts'
import type { ScreenHost } from '../../../../adapters/claude-code/mod/screen.ts'
import { Batch, Hello, Wait } from '../../../../adapters/claude-code/mod/messages.ts'
import { pause as takes } from '../../../../src/ports/pause.ts'
import type { FakeClock } from '../fake-clock.ts'
import type { SimulatedWorker } from './simulated-worker.ts'

export interface ModuleWorld {
  clock: FakeClock
  session_id: () => string
  /** Throws while there is no file. */
  pointer: () => string
  workerAt: (socket: string) => SimulatedWorker | null
  submit: (text: string) => Promise<SubmitResult>
  /** Milliseconds until the next request, or its response, arrives. */
  delay_ms: () => number
  /** Whether the next request or response is lost. */
  isLost: () => boolean
}

export type ModuleHook = (mod: ReturnType<typeof createMod>) => unknown

export interface SimulatedModule {
  /** Passes an event of the client to the module, in order. Resolves when the client goes on. */
  deliver(hook: ModuleHook): Promise<void>
  block(until_ms: number): void
  end(): void
}

/** The client aborts a request after this time. */
const REQUEST_MS = 30_000
/** The client goes on without a module that has not handled an event for this time. */
const EVENT_MS = 12_000

/** Nothing is shown. */
const SCREEN: ScreenHost = {
  status: () => {},
  toast: () => {},
  redraw: () => {},
  openTeam: async () => {},
}

export function startModule(world: ModuleWorld): SimulatedModule {
  const { clock } = world
  let alive = true
  let blocked_until_ms = 0
  const atEnd: (() => void)[] = []
  const mod = createMod({ version: '1.2.3', now: () => clock.now() })

  /** Resolves when code of the module may run; never if it has ended. */
  async function runs(): Promise<void> {
    while (clock.monotonic() < blocked_until_ms) await takes(clock, blocked_until_ms - clock.monotonic())
    if (!alive) await new Promise<never>(() => {})
  }
  async function fromClient<T>(answer: Promise<T>): Promise<T> {
    try {
      return await answer
    } finally {
      await runs()
    }
  }

  let inbound = Promise.resolve()
  const deliver = (hook: ModuleHook): Promise<void> => {
    if (!alive) return Promise.resolve()
    return new Promise((resolve) => {
      const goesOn = () => {
        timeout.cancel()
        resolve()
      }
      const timeout = clock.after(EVENT_MS, goesOn)
      atEnd.push(goesOn)
      inbound = inbound.then(runs).then(() => {
        hook(mod)
        goesOn()
      })
    })
  }
  void deliver(() =>
    mod.start({
      interactive: true,
      variables: async () => ({ TURNBELL_PERSONA: 'ada', TURNBELL_HOME: '/h' }),
      clientPid: async () => '7',
      clientVersion: async () => '2.1.332',
      conversation: async () => [],
      ...SCREEN,
      sessionId: () => fromClient(Promise.resolve(world.session_id())),
      read: async () => fromClient(Promise.resolve(world.pointer())),
      post: (socket, request, body) => fromClient(posted(world, { socket, request, body })),
      submit: (text) => fromClient(world.submit(text)),
      after(delay_ms, call) {
        let armed = true
        clock.after(delay_ms, () => void runs().then(() => armed && call()))
        return { cancel: () => void (armed = false) }
      },
    }),
  )
  return {
    deliver,
    block(until_ms) {
      if (blocked_until_ms < clock.monotonic()) blocked_until_ms = until_ms
    },
    end() {
      alive = false
      for (const call of atEnd) call()
    },
  }
}

interface Posted {
  socket: string
  request: string
  body: string
}

async function posted(world: ModuleWorld, { socket, request, body }: Posted): Promise<EngineResponse> {
  const { clock } = world
  const worker = world.workerAt(socket)
  const closed = new AbortController()
  let fail = () => {}
  const broken = new Promise<never>((_, reject) => {
    fail = () => {
      closed.abort()
      reject(new Error('broken'))
    }
  })
  worker?.onEnd(fail)
  const timeout = clock.after(REQUEST_MS, fail)
  const answered = async () => {
    await takes(clock, world.delay_ms())
    if (worker === null || world.isLost()) throw new Error('connection refused')
    const answer = await answerOf(worker, request, JSON.parse(body), closed.signal)
    await takes(clock, world.delay_ms())
    if (!world.isLost()) return answer
    closed.abort()
    throw new Error('lost')
  }
  try {
    return await Promise.race([answered(), broken])
  } finally {
    timeout.cancel()
  }
}

/** Like `mod-server.ts`. */
async function answerOf(
  { alive, link }: SimulatedWorker,
  request: string,
  body: unknown,
  closed: AbortSignal,
): Promise<EngineResponse> {
  if (!alive) throw new Error('connection refused')
  const found = async () => {
    if (request === 'hello') return link.hello(Hello.parse(body))
    if (request === 'events') return link.events(Batch.parse(body)) ? {} : null
    return link.wait(Wait.parse(body), closed)
  }
  const answer = await found()
  return answer === null
    ? { status: 409, text: '{"greet":true}' }
    : { status: 200, text: JSON.stringify(answer) }
}
