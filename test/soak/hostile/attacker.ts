/**
 * A hostile agent: one valid token, four connections, and every known way to keep a hub busy or to fill its memory.
 * Runs in a worker or in the process of a test until it is stopped.
 */
import { setMaxListeners } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { ATTACKS, type Attack, type Target } from './attacks.ts'

export const CONNECTIONS = 4
/** Maximum duration of one attack; the next follows at once. */
export const ATTACK_MS = 2_000
/** Pause after a failed attack: an unreachable hub would otherwise only keep the attacker busy. */
const FAILED_PAUSE_MS = 20

/** Number of executions of each attack. */
export type Strikes = Record<string, number>

/** Attacks until `over`. A closed connection or a rejected request only ends one attack. */
export async function attack(target: Target, over: AbortSignal, named: readonly string[]): Promise<Strikes> {
  const attacks = named.length === 0 ? ATTACKS : ATTACKS.filter(({ name }) => named.includes(name))
  const strikes: Strikes = Object.fromEntries(attacks.map(({ name }) => [name, 0]))
  setMaxListeners(0, over)
  const onOne = async (first: number) => {
    for (let at = first; !over.aborted; at += 1) {
      const one = attacks[at % attacks.length] as Attack
      await forAWhile(over, (turn) => one.strike(target, turn)).catch(() => pause(FAILED_PAUSE_MS))
      strikes[one.name] = (strikes[one.name] ?? 0) + 1
    }
  }
  const step = Math.max(1, Math.floor(attacks.length / CONNECTIONS))
  await Promise.all(Array.from({ length: CONNECTIONS }, (_, index) => onOne(index * step)))
  return strikes
}

/** `AbortSignal.any` in Node 20 loses a timeout without another reference. */
async function forAWhile(over: AbortSignal, act: (turn: AbortSignal) => Promise<void>): Promise<void> {
  const turn = new AbortController()
  setMaxListeners(0, turn.signal)
  const end = () => turn.abort()
  const timer = setTimeout(end, ATTACK_MS)
  over.addEventListener('abort', end)
  try {
    await act(turn.signal)
  } finally {
    clearTimeout(timer)
    over.removeEventListener('abort', end)
  }
}
