/**
 * A client that is suspended for 30 s after it received a doorbell, and a model that answers 30 s late. A doorbell is
 * never lost by delay, so the model is shown one in the turn. At the next doorbell the client is slow again, just long
 * enough that the daemon probes it before its turn begins.
 */
import { setTimeout } from 'node:timers/promises'
import { expectOneBellPerTurn } from '../support/clients/conversation.ts'
import { eventually } from '../support/eventually.ts'
import { BELL, type Scene } from '../support/clients/scene.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'

const SLOW_MS = 30_000
/** The daemon's probe is pending when the client resumes. */
const ASKED_MS = LIMITS.bell_receipt_ms + 2_000

/** `pid` is the process that receives the doorbell; it is at its prompt. */
export async function isRungOnceWhileSlow(scene: Scene, pid: number): Promise<void> {
  scene.model.always(BELL, () => ({ ...scene.drain, after: setTimeout(SLOW_MS) }))
  const first = await sendToStopped(scene, pid, 'one', SLOW_MS)
  const second = await scene.send('two')
  await scene.settled([first, second])
  scene.model.always(BELL, scene.drain)
  const third = await sendToStopped(scene, pid, 'three', ASKED_MS)
  const fourth = await scene.send('four')
  await scene.settled([third, fourth])
  expectOneBellPerTurn(scene.model, ['one', 'two', 'three', 'four'])
}

/** Suspends the client between the doorbell and its turn. */
async function sendToStopped(scene: Scene, pid: number, payload: string, stopped_ms: number) {
  const { doorbells_rung: before } = await scene.status()
  const sent = await scene.send(payload)
  await eventually('the doorbell has left', async () => (await scene.status()).doorbells_rung > before)
  process.kill(pid, 'SIGSTOP')
  try {
    await setTimeout(stopped_ms)
  } finally {
    process.kill(pid, 'SIGCONT')
  }
  return sent
}
