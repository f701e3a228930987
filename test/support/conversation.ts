/** Reads from the model server's log what the agent was shown, turn by turn. */
import { expect } from 'vitest'
import type { ModelServer, Shown } from './model-server.ts'

export interface Turn {
  /** Doorbells shown in it for the first time, or handed over in it where it was interrupted at once. */
  bells: string[]
  /** Payloads that its drains returned. */
  drained: string[]
  /** The same as `payload#deliveries`: a second one of the same kind is the same hand-out, shown again. */
  handOuts: string[]
  /** None of a turn that was interrupted before the model was asked. */
  requests: Shown[]
}

const BELL = /\[turnbell\] [^\n]* \(bell ([0-9a-z]{8})\)/g

/** What Claude Code, opencode and Codex say instead of, or with, the result of a tool that was interrupted or denied. */
const INTERRUPTED =
  /interrupted by user|Tool result missing|Tool execution aborted|User aborted the command|rejected permission to use this specific tool call\.|<turn_aborted>/

/**
 * What Claude Code's Stop hook handed over. Where that turn was interrupted before the model was asked again, its
 * text stays in the conversation, and is shown together with the doorbell of the next turn.
 */
const HANDED_OVER = /Stop hook additional context: \[turnbell\] [^\n]* \(bell ([0-9a-z]{8})\)/g

/**
 * What the people of the scenes say. A doorbell among their words went into the turn that they began. Not what the
 * soak says at any moment: where somebody speaks while it rings, the client's own queue may put both together.
 */
const PERSONS =
  /^(hello( there)?|a fresh start|here (again|I am)|back again|use your tool|look by yourself|go on|make a file|ask (a helper|clara)|and then this|pretend)$/m

/** A turn of the main agent goes on as long as the model asks for tools. */
export function turnsOf({ shown }: ModelServer): Turn[] {
  const turns: Turn[] = []
  const known = new Set<string>()
  let going = false
  for (const request of shown.filter(({ role }) => role === 'main')) {
    // An interrupted turn never shows the results of its tools: what comes next is a turn of its own.
    const goes_on = going && request.tool_results.length > 0 && !isInterrupted(request)
    const bells = shownIn(request, BELL).filter((bell) => !known.has(bell))
    const broken = bells.length > 1 && isInterrupted(request) ? shownIn(request, HANDED_OVER) : []
    if (broken.length > 0) turns.push({ ...emptyTurn(), bells: broken })
    if (!goes_on) turns.push(emptyTurn())
    const turn = turns.at(-1)!
    turn.requests.push(request)
    turn.bells.push(...bells.filter((bell) => !broken.includes(bell)))
    for (const bell of bells) known.add(bell)
    for (const result of request.tool_results) {
      const signals = signalsIn(result)
      turn.drained.push(...signals.map(({ payload }) => payload))
      turn.handOuts.push(...signals.map(({ payload, deliveries }) => `${payload}#${deliveries}`))
    }
    going = (request.reply.tools ?? []).length > 0
  }
  return turns
}

/** Each doorbell once, in the order of the text. */
function shownIn({ fresh }: Shown, what: RegExp): string[] {
  return [...new Set([...fresh.matchAll(what)].map(([, bell]) => bell!))]
}

const emptyTurn = (): Turn => ({ bells: [], drained: [], handOuts: [], requests: [] })

/** A tool of opencode that was killed before it printed leaves an empty result and no word of why. */
function isInterrupted({ fresh, tool_results }: Shown): boolean {
  return INTERRUPTED.test(fresh) || tool_results.includes('')
}

/** What every scene promises, whatever happens in it. */
export function expectOneBellPerTurn(model: ModelServer, payloads: readonly string[]): Turn[] {
  const turns = turnsOf(model)
  const story = JSON.stringify(
    turns.map(({ bells, drained, requests }) => ({
      bells,
      drained,
      fresh: requests.map(({ n, at, fresh, reply }) => [n, Math.round(at), fresh.slice(0, 300), reply]),
    })),
    null,
    1,
  )
  for (const turn of turns)
    expect(turn.bells.length, `two doorbells in one turn\n${story}`).toBeLessThanOrEqual(1)
  for (const turn of turns)
    expect(ringsInto(turn), `a doorbell in a person's own prompt\n${story}`).toBe(false)
  for (const turn of turns.filter(({ bells }) => bells.length > 0)) {
    expect(turn.drained.length, `a doorbell without signals\n${story}`).toBeGreaterThan(0)
  }
  const drained = turns.flatMap((turn) => turn.drained)
  const handed = JSON.stringify(turns.flatMap(({ handOuts }) => handOuts))
  expect(drained.sort(), `handed out: ${handed}\n${story}`).toEqual([...payloads].sort())
  return turns
}

function ringsInto({ bells, requests: [first] }: Turn): boolean {
  return first !== undefined && PERSONS.test(first.fresh) && bells.some((bell) => first.fresh.includes(bell))
}

/** For people who read the run: how often it rang, what was taken, and how long a ring took. */
export function figuresOf({ model, sent_at }: { model: ModelServer; sent_at: readonly number[] }) {
  const turns = turnsOf(model)
  const rung = turns.flatMap(({ bells, requests: [first] }) =>
    bells.length > 0 && first !== undefined ? [first.at] : [],
  )
  return {
    bells: rung.length,
    drained: turns.flatMap(({ drained }) => drained).length,
    turns: turns.length,
    /** From the last receipt before a bell to the request that showed it. */
    ring_ms: rung.map((at) => Math.round(at - Math.max(...sent_at.filter((sent) => sent < at)))),
  }
}

function signalsIn(result: string): { payload: string; deliveries: number }[] {
  try {
    const { signals } = JSON.parse(result) as { signals?: { payload: string; deliveries: number }[] }
    return signals ?? []
  } catch {
    return []
  }
}
