/** Goal 11: a tool call through the kernel, 32 at a time, beside an echo that only speaks JSON-RPC. */
import path from 'node:path'
import { callHttp, callStdio } from './callers.ts'
import { figure, interleave, short, type Figure } from './figures.ts'
import { addPersonas, agentToken, post, startHub, TURNBELL, type Hub } from './hubs.ts'
import { startNode, temporaryDirectory } from './processes.ts'
import { usage } from './usage.ts'

const CALLERS = 32
const ROUNDS = 5
const RUN_MS = 1_200
const WARM_UP_MS = 2_000
const ECHO = path.join(import.meta.dirname, 'echo.js')

const PARAMS = {
  name: 'signals',
  arguments: { action: 'inbox', params: { limit: 1 } },
  _meta: {
    'io.modelcontextprotocol/protocolVersion': '2026-07-28',
    'io.modelcontextprotocol/clientInfo': { name: 'bench', version: '1' },
    'io.modelcontextprotocol/clientCapabilities': {},
  },
}
const body = (id: number) => JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: PARAMS })

function httpRequest(url: string, token: string): Buffer {
  const text = body(1)
  const head = [
    'POST /mcp HTTP/1.1',
    `host: ${new URL(url).host}`,
    `authorization: Bearer ${token}`,
    'content-type: application/json',
    'accept: application/json, text/event-stream',
    'mcp-protocol-version: 2026-07-28',
    'mcp-method: tools/call',
    'mcp-name: signals',
    `content-length: ${Buffer.byteLength(text)}`,
  ]
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${text}`)
}

/** What the measured call answers, so that the echo answers as much. */
async function answerOf(hub: Hub, token: string): Promise<string> {
  return JSON.stringify(await post(hub, '/api/signals/inbox', { limit: 1 }, token))
}

export async function mcp(): Promise<Figure[]> {
  const hub = await startHub('durable')
  await addPersonas(hub, ['ada'])
  const token = await agentToken(hub, 'ada', 'bench')
  const answer = await answerOf(hub, token)
  try {
    return [await overHttp(hub, token, answer), ...(await overStdio(hub, answer))]
  } finally {
    await hub.stop()
  }
}

async function overHttp(hub: Hub, token: string, answer: string): Promise<Figure> {
  const echo = await startNode([ECHO, answer], { ready: /^echo ready (http\S+)$/ })
  const echo_url = echo.match?.[1] ?? ''
  const [toHub, toEcho] = [httpRequest(hub.url, token), httpRequest(echo_url, token)]
  const run = async (url: string, request: Buffer, pid: number) => {
    const before = await usage(pid)
    const began = performance.now()
    const { calls_per_s } = await callHttp(url, request, CALLERS, RUN_MS)
    const { cpu_us } = await usage(pid)
    return { calls_per_s, cpu_percent: (cpu_us - before.cpu_us) / (performance.now() - began) / 10 }
  }
  await callHttp(hub.url, toHub, CALLERS, WARM_UP_MS)
  await callHttp(echo_url, toEcho, CALLERS, WARM_UP_MS)
  const rounds = await interleave<Record<'hub' | 'echo', Awaited<ReturnType<typeof run>>>>(ROUNDS, {
    hub: () => run(hub.url, toHub, hub.pid),
    echo: () => run(echo_url, toEcho, echo.pid),
  })
  await echo.stop()
  const pairs = rounds.map((round) => ({
    ...round,
    value: round.hub.calls_per_s,
    limit: round.echo.calls_per_s,
  }))
  return figure('mcp-http', 'calls/s', '11: >= 0.4', pairs, (round) => [
    `tools/call of signals inbox over Streamable HTTP, ${CALLERS} connections, one call at a time on each`,
    'limit: a node:http server that parses the same request and answers as many bytes',
    `hub ${short(round.hub.cpu_percent)} % of a core, echo ${short(round.echo.cpu_percent)} %`,
  ])
}

/** The hub's own stdin and stdout, and beside it the bridge that has to ask a hub over HTTP. */
async function overStdio(proxied: Hub, answer: string): Promise<Figure[]> {
  const own_home = ['--home', temporaryDirectory(), '--port', '0']
  const persona = ['--persona', 'ada']
  const processes = {
    hub: await startNode([TURNBELL, 'hub', '--stdio', ...persona, ...own_home], { piped: true }),
    bridge: await startNode([TURNBELL, 'mcp', ...persona, '--home', proxied.home], { piped: true }),
    echo: await startNode([ECHO, answer, '--stdio'], { piped: true }),
  }
  const line = (id: number) => `${body(id)}\n`
  type Name = keyof typeof processes
  const run = async (name: Name, ms: number) => {
    const { child, pid } = processes[name]
    const before = await usage(pid)
    const began = performance.now()
    const { calls_per_s } = await callStdio({ input: child.stdin!, output: child.stdout! }, line, CALLERS, ms)
    const { cpu_us } = await usage(pid)
    return { calls_per_s, cpu_percent: (cpu_us - before.cpu_us) / (performance.now() - began) / 10 }
  }
  for (const name of ['hub', 'bridge', 'echo'] as const) await run(name, WARM_UP_MS)
  const rounds = await interleave<Record<Name, Awaited<ReturnType<typeof run>>>>(ROUNDS, {
    hub: () => run('hub', RUN_MS),
    bridge: () => run('bridge', RUN_MS),
    echo: () => run('echo', RUN_MS),
  })
  await Promise.all(Object.values(processes).map((process) => process.stop()))
  const against = (name: 'hub' | 'bridge') =>
    rounds.map((round) => ({
      ...{ value: round[name].calls_per_s, limit: round.echo.calls_per_s },
      ...{ ours: round[name].cpu_percent, echo: round.echo.cpu_percent },
    }))
  const limit = 'limit: a process that parses the same line and answers as many bytes'
  const used = ({ ours, echo }: { ours: number; echo: number }) =>
    `it used ${short(ours)} % of a core, echo ${short(echo)} %`
  return [
    figure('mcp-stdio', 'calls/s', '11: >= 0.5', against('hub'), (round) => [
      `the same call of \`turnbell hub --stdio\`, ${CALLERS} on their way at a time`,
      limit,
      used(round),
    ]),
    figure('mcp-bridge', 'calls/s', null, against('bridge'), (round) => [
      `the same call through \`turnbell mcp\`, which asks the hub over HTTP, ${CALLERS} on their way at a time`,
      limit,
      used(round),
    ]),
  ]
}
