/**
 * Goal 11: a tool call through the kernel with 32 in flight, compared with an echo server that only parses JSON-RPC.
 */
import path from 'node:path'
import { createInterface } from 'node:readline'
import { callHttp, callStdio, requestOf } from '../callers.ts'
import { figure, interleave, short, type Figure } from '../report/figures.ts'
import { addPersonas, agentToken, startHub, TURNBELL, type Hub } from '../hubs.ts'
import { startNode, type Started } from '../processes.ts'
import { busyWhile } from '../usage.ts'

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

const HEADERS = {
  accept: 'application/json, text/event-stream',
  'mcp-protocol-version': PARAMS._meta['io.modelcontextprotocol/protocolVersion'],
  'mcp-method': 'tools/call',
  'mcp-name': PARAMS.name,
}

const httpRequest = (url: string, token: string) =>
  requestOf(
    url,
    '/mcp',
    token,
    body(1),
    Object.entries(HEADERS).map(([name, value]) => `${name}: ${value}`),
  )

interface ToolAnswer {
  result?: { isError?: boolean; structuredContent?: object }
}

/**
 * Returns the text of the measured call, so that the echo responds with the same amount. Throws for an error, which
 * would be fast.
 */
function givenIn({ result }: ToolAnswer): string {
  if (result?.structuredContent === undefined || result.isError === true)
    throw new Error(`the call that is to be measured was refused: ${JSON.stringify(result)}`)
  return JSON.stringify(result.structuredContent)
}

async function answerOverHttp(hub: Hub, token: string): Promise<string> {
  const headers = { ...HEADERS, 'content-type': 'application/json', authorization: `Bearer ${token}` }
  const response = await fetch(`${hub.url}/mcp`, { method: 'POST', headers, body: body(1) })
  return givenIn((await response.json()) as ToolAnswer)
}

async function answerOverStdio({ child }: Started): Promise<string> {
  const lines = createInterface({ input: child.stdout! })
  child.stdin!.write(`${body(1)}\n`)
  const first = await lines[Symbol.asyncIterator]().next()
  if (first.done === true) throw new Error('the process ended before it had answered')
  lines.close()
  // Closing a readline interface pauses its stream.
  child.stdout!.resume()
  return givenIn(JSON.parse(first.value) as ToolAnswer)
}

export async function mcp(): Promise<Figure[]> {
  const hub = await startHub('durable')
  try {
    await addPersonas(hub, ['ada'])
    const token = await agentToken(hub, 'ada', 'bench')
    const answer = await answerOverHttp(hub, token)
    return [await overHttp(hub, token, answer), ...(await overStdio(hub, answer))]
  } finally {
    await hub.stop()
  }
}

async function overHttp(hub: Hub, token: string, answer: string): Promise<Figure> {
  const echo = await startNode([ECHO, answer], { ready: /^echo ready (http\S+)$/ })
  const echo_url = echo.match?.[1] ?? ''
  const [toHub, toEcho] = [httpRequest(hub.url, token), httpRequest(echo_url, token)]
  const run = (url: string, request: Buffer, pid: number) =>
    busyWhile(pid, () => callHttp(url, request, CALLERS, RUN_MS))
  await callHttp(hub.url, toHub, CALLERS, WARM_UP_MS)
  await callHttp(echo_url, toEcho, CALLERS, WARM_UP_MS)
  const rounds = await interleave<Record<'hub' | 'echo', Awaited<ReturnType<typeof run>>>>(ROUNDS, {
    hub: () => run(hub.url, toHub, hub.pid),
    echo: () => run(echo_url, toEcho, echo.pid),
  })
  await echo.stop()
  const pairs = rounds.map((round) => ({
    ...round,
    value: round.hub.done.calls_per_s,
    limit: round.echo.done.calls_per_s,
  }))
  return figure('mcp-http', 'calls/s', '11: >= 0.4', pairs, (round) => [
    `tools/call of signals inbox over Streamable HTTP, ${CALLERS} connections, one call at a time on each`,
    'limit: a node:http server that parses the same request and answers as many bytes',
    `hub ${short(round.hub.cpu_percent)} % of a core, echo ${short(round.echo.cpu_percent)} %`,
  ])
}

/** Creates a home with the persona, because a bridge rejects an unknown one. Returns its path. */
async function homeOf(persona: string): Promise<string> {
  const hub = await startHub('durable')
  try {
    await addPersonas(hub, [persona])
    return hub.home
  } finally {
    await hub.stop()
  }
}

/** Measures the hub's own stdin and stdout, and the bridge, which calls a hub over HTTP. */
async function overStdio(proxied: Hub, answer: string): Promise<Figure[]> {
  const home = await homeOf('ada')
  const own_home = ['--home', home, '--port', '0']
  const persona = ['--persona', 'ada']
  const processes = {
    hub: await startNode([TURNBELL, 'hub', '--stdio', ...persona, ...own_home], { piped: true }),
    bridge: await startNode([TURNBELL, 'mcp', ...persona, '--home', proxied.home], { piped: true }),
    echo: await startNode([ECHO, answer, '--stdio'], { piped: true }),
  }
  const line = (id: number) => `${body(id)}\n`
  type Name = keyof typeof processes
  const run = (name: Name, ms: number) => {
    const { child, pid } = processes[name]
    const streams = { input: child.stdin!, output: child.stdout! }
    return busyWhile(pid, () => callStdio(streams, line, CALLERS, ms))
  }
  for (const name of ['hub', 'bridge', 'echo'] as const) {
    const given = await answerOverStdio(processes[name])
    if (given !== answer) throw new Error(`over ${name} the call answers ${given}, not ${answer}`)
    await run(name, WARM_UP_MS)
  }
  const rounds = await interleave<Record<Name, Awaited<ReturnType<typeof run>>>>(ROUNDS, {
    hub: () => run('hub', RUN_MS),
    bridge: () => run('bridge', RUN_MS),
    echo: () => run('echo', RUN_MS),
  })
  await Promise.all(Object.values(processes).map((process) => process.stop()))
  const against = (name: 'hub' | 'bridge') =>
    rounds.map((round) => ({
      ...{ value: round[name].done.calls_per_s, limit: round.echo.done.calls_per_s },
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
