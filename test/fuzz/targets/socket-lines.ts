/** Fuzzes lines on control.sock and surface.sock, which any program of the user may write. */
import { RpcRequest, RpcResponse, SurfaceReport } from '../../../src/contracts/control.ts'
import { Problem } from '../../../src/contracts/errors/errors.ts'
import { controlHandlers } from '../../../src/daemon/control.ts'
import { createSurfaceSocket } from '../../../src/daemon/surface-socket.ts'
import { silentLog } from '../../../src/ports/log.ts'
import type { RpcHandlers, RpcPeer } from '../../../src/ports/rpc.ts'
import { createRpcPeer } from '../../../src/system/ipc/json-rpc-peer.ts'
import { fakeClock } from '../../support/fakes/fake-clock.ts'
import { linesOf, samplesOf } from '../seeds.ts'
import { Broken, insist, type Target } from '../target.ts'
import { Heard, tick, wire } from '../peers/wire.ts'

const CONTROL = 'control'
const QUIET_TICKS = 4

export const socketLines: Target = {
  name: 'socket-lines',
  promise:
    'each line on a local socket is answered or dropped, never with internal, and the next program is served',
  share: 5,
  words: [
    'status',
    'notify_surface',
    'resume_surface',
    'shutdown',
    'jsonrpc',
    '2.0',
    'params',
    'identity',
    'result',
  ],

  open() {
    const clock = fakeClock()
    const bugs: unknown[] = []
    let requests = 0
    const surface = createSurfaceSocket(
      clock,
      { ...silentLog, error: (fields) => void bugs.push(fields) },
      {
        onReport(_report, _same_shim, answer) {
          answer(null)
          return (requests += 1)
        },
        onAbandoned() {},
        onLost() {},
      },
    )
    const control = controlHandlers({
      identity: 'ada',
      verbs: {
        status: () => ({ identity: 'ada' }) as never,
        notify_surface: () => Promise.resolve({ accepted: false, reason: 'nothing_pending' }),
        resume_surface: () => ({ accepted: surface.resume() }),
        shutdown() {},
      },
      onMismatch() {},
      onBug: (error) => void bugs.push(error),
    })
    const connect = (handlersFor: (peer: RpcPeer) => RpcHandlers) => {
      const { ours, theirs } = wire()
      createRpcPeer(theirs, handlersFor, clock)
      return { ours, heard: new Heard(ours) }
    }
    const rpc = (method: string, params: unknown) => JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    return {
      seeds: [
        ...['status', 'notify_surface', 'resume_surface', 'shutdown'].map(
          (verb) => `${CONTROL}\n${rpc(verb, { identity: 'ada' })}`,
        ),
        ...samplesOf(SurfaceReport, 20).map((report) => `surface\n${rpc('status', report)}`),
        ...linesOf(RpcRequest, 10).map((line) => `${CONTROL}\n${line}`),
        ...linesOf(RpcResponse, 10).map(
          (line) => `surface\n${rpc('status', samplesOf(SurfaceReport, 1)[0])}\n${line}`,
        ),
      ],
      broken_seeds: [`${CONTROL}\n[]\nnull\n"x"\n{"jsonrpc":"1.0","id":1,"method":"status"}`],
      async attempt(input) {
        const first = input.indexOf('\n')
        const isControl = input.subarray(0, Math.max(0, first)).toString() === CONTROL
        const { ours, heard } = connect(isControl ? () => control : (peer) => surface.handlersFor(peer))
        ours.write(input.subarray(first + 1))
        ours.write('\n')
        await heard.until(() => false, QUIET_TICKS)
        const told = heard.all().toString().split('\n').filter(Boolean).map(judged)
        ours.destroy()
        const [bug] = bugs.splice(0)
        if (bug !== undefined) throw errorIn(bug)
        const next = connect(() => control)
        next.ours.write(`${rpc('status', {})}\n`)
        await tick()
        insist(next.heard.all().includes('"ada"'), () => 'the next program was not answered')
        next.ours.destroy()
        return [...new Set(told)].sort().join(' ')
      },
    }
  },
}

/** Returns the thrown or logged error. */
function errorIn(bug: unknown): Error {
  const thrown = (bug as { err?: unknown }).err ?? bug
  return thrown instanceof Error ? thrown : new Broken(JSON.stringify(bug))
}

function judged(line: string): string {
  // An id is returned as written, even if JavaScript parses it as infinite.
  const value: unknown = JSON.parse(line, (_, part: unknown) =>
    Math.abs(part as number) === Infinity ? 0 : part,
  )
  if (RpcRequest.safeParse(value).success) return 'asked'
  const answer = RpcResponse.safeParse(value)
  insist(answer.success, () => `no JSON-RPC: ${line.slice(0, 200)}`)
  const { error } = answer.data
  if (error === undefined) return 'result'
  const problem = Problem.safeParse(error.data)
  insist(
    problem.success && problem.data.code !== 'internal',
    () => `refused without a problem: ${line.slice(0, 200)}`,
  )
  return problem.data.code
}
