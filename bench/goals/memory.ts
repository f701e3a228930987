/**
 * Goal 15, and an agent's waiting time: posts of one and of twelve writers compared with appends to a plain file, and
 * assembling the context of a project with many records.
 */
import fs from 'node:fs'
import path from 'node:path'
import { ulid } from 'ulid'
import { callHttp, requestOf, type Called } from '../callers.ts'
import { figure, interleave, median, percentile, short, type Figure, type Pair } from '../report/figures.ts'
import { rawAppend, rawGroupCommit } from '../limits.ts'
import { text } from '../text.ts'
import { agentToken, post, startHub, type Hub } from '../hubs.ts'
import { temporaryDirectory } from '../processes.ts'

const ROUNDS = 5
const RUN_MS = 1_500
const WARM_UP_MS = 1_500
const WRITERS = [1, 12]
const RAW_APPENDS = 20_000

const ENTRIES = 10_000
const DECISIONS = 2_000
const ASSEMBLES = 40
/** Maximum waiting time of an agent, in milliseconds. */
const ASSEMBLE_MS = 50
const POST_P99_MS = 20

const ENTRY = {
  entry_type: 'finding',
  summary: 'The index is rebuilt every night, which takes four minutes on production data',
  detail: 'x'.repeat(200),
  tags: ['bench'],
  scope: 'src/search/',
}

export async function memory(): Promise<Figure[]> {
  return [...(await posts()), await assembles()]
}

async function posts(): Promise<Figure[]> {
  const hub = await startHub('durable')
  try {
    const root = temporaryDirectory()
    const token = await writerIn(hub, root)
    const request = requestOf(hub.url, '/api/blackboard/post', token, JSON.stringify(ENTRY))
    let posted = 0
    const postFor = async (writers: number, ms: number) => {
      const called = await callHttp(hub.url, request, writers, ms)
      posted += called.latencies_ms.length
      return called
    }
    await postFor(12, WARM_UP_MS)
    const line = lineLength(root)
    const figures: Figure[] = []
    for (const writers of WRITERS) {
      const rounds = await interleave<{ posts: Called; raw: number }>(ROUNDS, {
        posts: () => postFor(writers, RUN_MS),
        raw: () => bareAppends(root, line, writers),
      })
      const who = writers === 1 ? 'one writer' : `${writers} writers`
      const pairs = rounds.map(({ posts: { calls_per_s }, raw }) => ({ value: calls_per_s, limit: raw }))
      figures.push(
        figure(`memory-post-${writers}`, 'posts/s', null, pairs, () => [
          `blackboard post over HTTP, ${who}, each answered after its sync`,
          `limit: a bare file that ${line} bytes are appended to, ${who}${writers === 1 ? ', a sync after each' : ', group commit'}`,
        ]),
      )
      if (writers === 1) continue
      const slow = rounds.map(({ posts: { latencies_ms } }): Pair => {
        return { value: percentile(latencies_ms, 0.99), limit: POST_P99_MS }
      })
      needAll(root, posted)
      figures.push(
        figure('memory-post-p99', 'ms', '15: <= 1', slow, () => [
          `p99 of the same, ${who}; the files have all of the ${posted} posts that were answered; limit: the goal`,
        ]),
      )
    }
    return figures
  } finally {
    await hub.stop()
  }
}

/** Throws if a confirmed post is neither on the blackboard nor in its archive. */
function needAll(root: string, posted: number): void {
  const folder = path.join(root, '.turnbell')
  const names = fs.readdirSync(folder, { recursive: true, encoding: 'utf8' })
  const kept = names
    .filter((name) => name.endsWith('blackboard.jsonl') && !name.startsWith('rejected'))
    .map((name) => fs.readFileSync(path.join(folder, name), 'utf8').split(ENTRY.summary).length - 1)
    .reduce((sum, count) => sum + count, 0)
  if (kept < posted) throw new Error(`${posted - kept} of ${posted} posts are not there`)
}

/** Returns the number of appends per second to a file, by loops that each wait for the sync. */
async function bareAppends(directory: string, bytes: number, writers: number): Promise<number> {
  if (writers === 1) return rawAppend(directory, bytes, RUN_MS / 2).per_s
  return (await rawGroupCommit(directory, bytes, writers, RAW_APPENDS)).per_s
}

async function assembles(): Promise<Figure> {
  const root = temporaryDirectory()
  const bytes = remember(root)
  const hub = await startHub('durable')
  try {
    const token = await writerIn(hub, root)
    const ask = async () => {
      const started = performance.now()
      await post(hub, '/api/context/assemble', task(), token)
      return performance.now() - started
    }
    const first_ms = await ask()
    for (let n = 0; n < 5; n += 1) await ask()
    const pairs: Pair[] = []
    for (let round = 0; round < ROUNDS; round += 1) {
      const took: number[] = []
      for (let n = 0; n < ASSEMBLES; n += 1) took.push(await ask())
      pairs.push({ value: median(took), limit: ASSEMBLE_MS })
    }
    return figure(
      'memory-assemble',
      'ms',
      'assemble: <= 1',
      pairs,
      () => [
        `p50 of context assemble over HTTP, warm, ${ENTRIES} entries and ${DECISIONS} decisions, ${short(bytes / 1e6)} MB`,
        `the first one after the start took ${short(first_ms)} ms; limit: the goal`,
      ],
      'rounds',
    )
  } finally {
    await hub.stop()
  }
}

/** A different task each time, about one path. */
const task = () => ({ task: text(15), scope: 'src/area7/part3.ts', max_tokens: 4_000 })

async function writerIn(hub: Hub, root: string): Promise<string> {
  await post(hub, '/api/personas/add', { identity: 'ada', surface: 'mcp', project: root })
  return agentToken(hub, 'ada', 'bench')
}

function lineLength(root: string): number {
  const [line = ''] = fs.readFileSync(path.join(root, '.turnbell/blackboard.jsonl'), 'utf8').split('\n', 1)
  return Buffer.byteLength(line) + 1
}

const TYPES = ['finding', 'warning', 'need', 'question', 'status', 'constraint', 'answer']

/** Writes a project with many records as plain files; returns their size in bytes. */
function remember(root: string): number {
  const folder = path.join(root, '.turnbell')
  fs.mkdirSync(path.join(folder, 'decisions'), { recursive: true })
  const start = Date.now() - ENTRIES * 60_000
  const common = (n: number) => {
    const time = start + n * 60_000
    const scope = `src/area${n % 40}/part${n % 9}.ts`
    return { id: ulid(time), timestamp: new Date(time).toISOString(), agent_id: `agent${n % 5}`, scope }
  }
  const lines = Array.from({ length: ENTRIES }, (_, n) => {
    const entry_type = TYPES[n % TYPES.length]
    return JSON.stringify({
      ...common(n),
      entry_type,
      tags: [],
      summary: text(9),
      detail: text(50),
    })
  })
  fs.writeFileSync(path.join(folder, 'blackboard.jsonl'), `${lines.join('\n')}\n`)
  let bytes = fs.statSync(path.join(folder, 'blackboard.jsonl')).size
  for (let n = 0; n < DECISIONS; n += 1) {
    const decision = {
      ...{ ...common(n * 5), domain: 'implementation', summary: text(9), context: text(20) },
      ...{
        rationale: text(30),
        confidence: 'medium',
        status: n % 10 === 0 ? 'superseded' : 'active',
      },
      affected_files: [`src/area${n % 40}/file${n}.ts`],
    }
    const written = `${JSON.stringify(decision, null, 2)}\n`
    fs.writeFileSync(path.join(folder, 'decisions', `${decision.id}.json`), written)
    bytes += written.length
  }
  return bytes
}
