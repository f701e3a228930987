/** The module inside Claude Code without the client: fake functions of the client, and a fake worker in memory. */
import { createMod } from '../../../adapters/claude-code/mod/mod.ts'
import type { EngineResponse, SubmitResult } from '../../../adapters/claude-code/mod/engine.ts'
import {
  Batch,
  Hello,
  Wait,
  NumberedEvent,
  type WaitAnswer,
} from '../../../adapters/claude-code/mod/messages.ts'
import type { PlaceVariables } from '../../../adapters/claude-code/mod/worker-place.ts'
import { atRest, fakeClock } from '../fakes/fake-clock.ts'

export const PERSONA: PlaceVariables = { TURNBELL_PERSONA: 'ada', TURNBELL_HOME: '/h' }

type Off = 'protocol' | 'configured'
export interface ModWorldOptions {
  variables?: PlaceVariables
  /** False: the worker starts later. */
  worker?: boolean
  /** The worker's answer to a greeting, instead of a new epoch. */
  off?: Off
}

export function modWorld({ variables = PERSONA, worker = true, off }: ModWorldOptions) {
  const fake = fakeModWorker(worker, off)
  const clock = fakeClock()
  const reads: string[] = []
  const submitted: string[] = []
  const answers: ((result: SubmitResult) => void)[] = []
  const shown: string[] = []
  const mod = {
    mod: createMod({ version: '1.2.3', now: () => clock.now() }),
    clock,
    /** Files that the module read. */
    reads,
    submitted,
    /** Calls that change the screen, in order. */
    shown,
    session_id: 's1',
    /** How often the conversation was read. */
    conversations: 0,
    /** Answers the oldest submitted prompt. */
    answer: (result: SubmitResult) => answers.shift()?.(result),
  }
  return {
    worker: fake,
    mod,
    async start() {
      mod.mod.start({
        interactive: true,
        variables: async () => variables,
        clientPid: async () => '7',
        clientVersion: async () => '2.1.332',
        sessionId: async () => mod.session_id,
        async conversation() {
          mod.conversations += 1
          return []
        },
        async read(file) {
          reads.push(file)
          return fake.pointer()
        },
        post: (socket, request, body) => fake.post(socket, request, JSON.parse(body)),
        submit(text) {
          submitted.push(text)
          return new Promise((resolve) => answers.push(resolve))
        },
        after: (delay_ms, call) => clock.after(delay_ms, call),
        status: (text) => void shown.push(`status ${text}`),
        toast: (text) => void shown.push(`toast ${text}`),
        redraw: () => void shown.push('redraw'),
        async openTeam() {
          shown.push('pane')
        },
      })
      await atRest()
    },
    /** A turn of the main agent starts. */
    turn: async (turnId: string) => {
      await mod.mod.turns.turnStarted({ turnId }, async () => ({}))
      await atRest()
    },
  }
}

const answered = (body: object, status = 200): EngineResponse => ({ status, text: JSON.stringify(body) })

function fakeModWorker(running: boolean, off: Off | undefined) {
  let epochs = 0
  let known: string | null = null
  let refusal: number | null = null
  const held = new Map<string, Promise<void>>()
  const open: { request: string; socket: string; fail: () => void }[] = []
  let wait: ((answer: WaitAnswer) => void) | null = null
  let socket = '/w1.sock'
  const requests: string[] = []
  const hellos: Hello[] = []
  const batches: Batch[] = []
  const waits: Wait[] = []

  async function answerOf(request: string, body: unknown): Promise<EngineResponse> {
    await held.get(request)
    if (request === 'hello') {
      hellos.push(Hello.parse(body))
      if (off !== undefined) return answered({ mode: 'off', reason: off, version: '1.2.3' })
      known = `e${++epochs}`
      return answered({ mode: 'on', epoch: known, version: '1.2.3' })
    }
    const asked = Wait.parse(body)
    if (request === 'wait') waits.push(asked)
    if (asked.epoch !== known) return answered({ greet: true }, 409)
    if (request === 'wait') return answered(await new Promise<WaitAnswer>((resolve) => (wait = resolve)))
    if (refusal !== null) return answered({}, refusal)
    batches.push(Batch.parse(body))
    return answered({})
  }

  return {
    /** Names of all requests, in order. */
    requests,
    hellos,
    /** Accepted batches. */
    batches,
    waits,
    events: (): NumberedEvent[] =>
      batches.flatMap(({ events }) => events.map((event) => NumberedEvent.parse(event))),
    open: (request: string) => open.filter((one) => one.request === request).length,
    pointer(): string {
      if (!running) throw new Error('no such file')
      return `${socket}\n`
    },
    async post(to: string, request: string, body: unknown): Promise<EngineResponse> {
      requests.push(request)
      if (!running || to !== socket) throw new Error('connection refused')
      const one = { request, socket: to, fail: () => {} }
      open.push(one)
      const broken = new Promise<never>((_, reject) => (one.fail = () => reject(new Error('broken'))))
      try {
        return await Promise.race([answerOf(request, body), broken])
      } finally {
        open.splice(open.indexOf(one), 1)
      }
    },
    ring: (bell: NonNullable<WaitAnswer['bell']>) => wait?.({ bell }),
    show: (view: NonNullable<WaitAnswer['view']>) => wait?.({ view }),
    /** Later requests of this name are answered after the returned function was called. */
    hold(request: string): () => void {
      let release = () => {}
      held.set(request, new Promise((resolve) => (release = resolve)))
      return release
    },
    refuse: (status: number | null) => void (refusal = status),
    accept: () => void (off = undefined),
    /** The open requests fail, and later ones do not. */
    breakRequests() {
      for (const { fail } of [...open]) fail()
    },
    /** The worker does not know the epoch anymore. */
    replace: () => void (known = null),
    end() {
      running = false
      known = null
      for (const { fail } of [...open]) fail()
    },
    /** A worker with another socket starts. */
    begin() {
      running = true
      socket = `/w${epochs + 2}.sock`
    },
  }
}
