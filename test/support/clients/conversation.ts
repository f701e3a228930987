/** Reads from the model server's log what each turn showed the agent. */
import { expect } from 'vitest'
import type { ModelServer, Shown } from './model-server.ts'

export interface Turn {
  /**
   * Doorbells that the turn showed for the first time, including those of a Stop hook whose turn was interrupted at
   * once.
   */
  bells: string[]
  /** Payloads that the drains of the turn returned. */
  drained: string[]
  /** The same as `payload#deliveries`: a repeated one is the same delivery, shown again. */
  handOuts: string[]
  /** Empty for a turn that was interrupted before the first request to the model. */
  requests: Shown[]
}

const BELL = /\[turnbell\] [^\n]* \(bell ([0-9a-z]{8})\)/g

/** Texts of Claude Code, opencode and Codex in the result of an interrupted or denied tool. */
const INTERRUPTED =
  /interrupted by user|Tool result missing|Tool execution aborted|User aborted the command|rejected permission to use this specific tool call\.|<turn_aborted>/

/**
 * Text of a doorbell from Claude Code's Stop hook. If that turn was interrupted before the next request, the text
 * remains in the conversation and is shown together with the doorbell of the next turn.
 */
const HANDED_OVER = /Stop hook additional context: \[turnbell\] [^\n]* \(bell ([0-9a-z]{8})\)/g

/**
 * Prompts of the users in the scenes. A doorbell in the same request belongs to the turn that they began. The soak test
 * is excluded: a prompt and a doorbell that arrive together may be merged by the client's own queue.
 */
const PERSONS =
  /^(hello( there)?|a fresh start|here (again|I am)|back again|use your tool|look by yourself|go on|make a file|ask (a helper|clara)|and then this|pretend)$/m

/** A turn of the main agent lasts while the model calls tools. */
export function turnsOf({ shown }: ModelServer): Turn[] {
  const turns: Turn[] = []
  const known = new Set<string>()
  let going = false
  for (const request of shown.filter(({ role }) => role === 'main')) {
    // An interrupted turn never shows the results of its tools; the next request belongs to a new turn.
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

/** Returns each doorbell once, in the order of the text. */
function shownIn({ fresh }: Shown, what: RegExp): string[] {
  return [...new Set([...fresh.matchAll(what)].map(([, bell]) => bell!))]
}

const emptyTurn = (): Turn => ({ bells: [], drained: [], handOuts: [], requests: [] })

/** When opencode kills a tool before it printed anything, the result is empty and has no reason. */
function isInterrupted({ fresh, tool_results }: Shown): boolean {
  return INTERRUPTED.test(fresh) || tool_results.includes('')
}

/** Checks the invariants of every scene: one doorbell per turn, and each payload once. */
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

/** Returns figures for the report: number of doorbells and drained signals, and the time until a doorbell was shown. */
export function figuresOf({ model, sent_at }: { model: ModelServer; sent_at: readonly number[] }) {
  const turns = turnsOf(model)
  const rung = turns.flatMap(({ bells, requests: [first] }) =>
    bells.length > 0 && first !== undefined ? [first.at] : [],
  )
  return {
    bells: rung.length,
    drained: turns.flatMap(({ drained }) => drained).length,
    turns: turns.length,
    /** From the last receipt before a doorbell to the request that showed it. */
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
