/**
 * Runs the surface suite against the Claude Code adapter; hook events, a registry and an inbox simulate its session.
 */
import { claudeSurface } from '../../adapters/claude-code/claude-surface.ts'
import { LIMITS } from '../../src/contracts/limits/limits.ts'
import { silentLog } from '../../src/ports/log.ts'
import { atRest, fakeClock } from '../support/fakes/fake-clock.ts'
import { turnEvent } from '../support/turn-events.ts'
import { describeSurface, type PlaceMode } from '../suites/surface.suite.ts'
import { NO_MODULE } from '../support/fakes/no-module.ts'

const TRAITS = {
  ...{ takes: true, receipts: true, ends_with_client: true },
  ...{ outstanding: true, lost_ms: LIMITS.claude_bell_lost_ms },
}

describeSurface('claude-code', TRAITS, async (host) => {
  const clock = fakeClock()
  let mode: PlaceMode = 'takes'
  /** Texts in the conversation, and texts in the inbox that wait for a turn. */
  const shown: string[] = []
  let waiting: string[] = []

  const surface = claudeSurface({
    session_id: 'session-1',
    mod: NO_MODULE,
    clock,
    log: silentLog,
    degraded: silentLog,
    respawned: false,
    onInterrupted: async () => {},
    drainsReleased: async () => {},
    isStopped: () => false,
    paths: {
      markLost() {},
      unread: () => waiting.length > 0,
      async post(text) {
        if (mode === 'breaks') return 'failed'
        if (mode === 'gone') return 'unavailable'
        if (mode === 'delays') await new Promise<void>((resolve) => clock.after(1_500, resolve))
        if (mode === 'swallows') return 'sent'
        shown.push(text)
        waiting.push(...(mode === 'duplicates' ? [text, text] : [text]))
        return 'sent'
      },
    },
  })
  surface.open(host)
  surface.registryRead({ status: 'idle' })
  await clock.advance(1_000)

  return {
    surface,
    clock,
    mode: (next) => void (mode = next),
    rung: () => shown,
    async beginTurn() {
      for (const prompt of waiting.length > 0 ? waiting : ['a prompt']) {
        await surface.hookFired(turnEvent('UserPromptSubmit', { prompt }))
      }
      waiting = []
      surface.registryRead({ status: 'busy' })
      await atRest()
    },
    async endTurn() {
      if ((await surface.status()).turn !== 'busy') return
      const bell = await surface.stopped(turnEvent('Stop'), () => false)
      if (bell !== null) {
        shown.push(bell.text)
        surface.continuedWith(bell)
      } else surface.registryRead({ status: 'idle' })
      await atRest()
    },
    close: () => surface.close(),
  }
})
