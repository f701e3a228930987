/** What a client reports about its agent besides the turn, as lines of `turnbell status --persona`. Pure. */
import type { Presence, Subagent, Waiting } from '../contracts/presence.ts'
import { LIMITS } from '../contracts/limits/limits.ts'
import { ago, count, duration, printableLine } from './render.ts'

/** Name and value; a value that continues has the name `''`. */
export type Line = readonly [string, string]

export function presenceLines(presence: Presence | null, now_ms: number): Line[] {
  if (presence === null) return []
  return [
    ...named('waits for you', presence.waiting, (waiting) => waitingLine(waiting, presence.agents, now_ms)),
    ...named('subagents', inTree(presence.agents), (node) => agentLine(node, now_ms)),
    ...(presence.agents.length < LIMITS.presence_agents_max ? [] : ([['', 'and perhaps more']] as const)),
    ...contextLines(presence),
    ...compactionLines(presence, now_ms),
  ]
}

/** Formats each item; only the first line has the name. */
function named<T>(name: string, items: readonly T[], format: (item: T) => string): Line[] {
  return items.map((item, at) => [at === 0 ? name : '', format(item)])
}

const age = (since: string, now_ms: number) => duration((now_ms - Date.parse(since)) / 1000)

const WORDS: Record<Waiting['for'], string> = {
  permission: 'permission for',
  question: 'answer to',
  plan: 'decision on the plan of',
}

function waitingLine(waiting: Waiting, agents: readonly Subagent[], now_ms: number): string {
  const { agent: id, why, tool, since } = waiting
  const of = agents.find(({ agent }) => agent === id)
  const who = id === null ? '' : ` (subagent ${of === undefined ? printableLine(id) : nameOf(of)})`
  const reason = why === null ? '' : `: ${printableLine(why)}`
  return `${WORDS[waiting.for]} ${printableLine(tool)}${who}, since ${age(since, now_ms)}${reason}`
}

interface Node {
  agent: Subagent
  depth: number
}

/** Every subagent below the one that started it. One whose parent has ended is at the top. */
function inTree(agents: readonly Subagent[]): Node[] {
  const ids = new Set(agents.map(({ agent }) => agent))
  const shown = new Set<string>()
  const below = (parent: Subagent, depth: number): Node[] => {
    if (shown.has(parent.agent)) return []
    shown.add(parent.agent)
    const children = agents.filter((child) => child.parent === parent.agent)
    return [{ agent: parent, depth }, ...children.flatMap((child) => below(child, depth + 1))]
  }
  const tops = agents.filter(({ parent }) => parent === null || !ids.has(parent))
  // Subagents that name each other as parents have no top.
  return [...tops, ...agents].flatMap((agent) => below(agent, 0))
}

const nameOf = ({ agent, type, task }: Subagent) => {
  const words = [type, task].filter((word) => word !== null && word !== '')
  return printableLine(words.length === 0 ? agent : words.join(': '))
}

const agentLine = ({ agent, depth }: Node, now_ms: number) =>
  `${'  '.repeat(depth)}${nameOf(agent)}, ${age(agent.since, now_ms)}`

function contextLines({ tokens, window, cost_usd }: Presence): Line[] {
  const size =
    tokens === null
      ? []
      : [window === null ? count(tokens, 'token') : `${tokens} of ${count(window, 'token')}`]
  const cost = cost_usd === null ? [] : [`cost $${cost_usd.toFixed(2)}`]
  const words = [...size, ...cost]
  return words.length === 0 ? [] : [['context', words.join(', ')]]
}

function compactionLines({ compacting_since, last_compaction: last }: Presence, now_ms: number): Line[] {
  const lines: string[] = []
  if (compacting_since !== null) lines.push(`running since ${age(compacting_since, now_ms)}`)
  if (last !== null) {
    const { before, after } = last
    const sizes = before === null || after === null ? '' : `, ${before} to ${count(after, 'token')}`
    const at = ago((now_ms - Date.parse(last.at)) / 1000)
    lines.push(`${at}${sizes}, primer ${RESTORED[String(last.restored) as keyof typeof RESTORED]}`)
  }
  return named('compaction', lines, (line) => line)
}

const RESTORED = {
  true: 'shown again',
  false: 'not shown again',
  null: 'not checked yet',
} as const
