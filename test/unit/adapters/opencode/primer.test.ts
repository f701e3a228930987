import { describe, expect, test, vi } from 'vitest'
import { sessionPrimer } from '../../../../adapters/opencode/plugin/primer.ts'
import { PRIMER_LIMITS } from '../../../../src/contracts/limits/primer.ts'

function world({ subagents = [] as string[] } = {}) {
  let now = 0
  let fails = false
  const payloads: { session_id: string; source: string; cwd: string }[] = []
  const primer = sessionPrimer({
    async report(payload) {
      payloads.push(payload as (typeof payloads)[number])
      if (fails) throw new Error('away')
      const additionalContext = `primer ${payloads.length}`
      return { hookSpecificOutput: { hookEventName: 'SessionStart', additionalContext } }
    },
    isUserSession: async (id) => !subagents.includes(id),
    directory: '/projects/shop',
    clock: { monotonic: () => now },
    log: { debug: vi.fn() },
  })
  return {
    payloads,
    primer,
    pass: (ms: number) => (now += ms),
    fail: (value: boolean) => (fails = value),
    system: async (session_id: string | undefined, prompt = 'You are opencode') => {
      const system = [prompt]
      await primer.addTo(session_id, system)
      return system.slice(1)
    },
  }
}

describe('the primer of opencode sessions', () => {
  test('the primer is requested once for a session and added to each of its requests', async () => {
    const { system, payloads } = world()
    expect([await system('s1'), await system('s1'), await system('s2')]).toEqual([
      ['primer 1'],
      ['primer 1'],
      ['primer 2'],
    ])
    expect(payloads[0]).toEqual({
      ...{ hook_event_name: 'SessionStart', session_id: 's1', source: 'startup', cwd: '/projects/shop' },
    })
  })

  test('the primer is renewed after a compaction and after a long pause', async () => {
    const { system, payloads, primer, pass } = world()
    await system('s1')
    primer.compacting('s1')
    expect(await system('s1')).toEqual(['primer 2'])
    pass(PRIMER_LIMITS.primer_lifetime_ms)
    expect(await system('s1')).toEqual(['primer 3'])
    expect(payloads.map(({ source }) => source)).toEqual(['startup', 'compact', 'resume'])
  })

  test('the primer is not added for subagents, titles, summaries and requests without a session', async () => {
    const { system, payloads } = world({ subagents: ['sub'] })
    expect(await system('sub')).toEqual([])
    expect(await system('s1', 'You are a title generator. You output')).toEqual([])
    expect(await system('s1', 'You are a context summarization agent')).toEqual([])
    expect(await system(undefined)).toEqual([])
    expect(payloads).toEqual([])
  })

  test('without a hub the former primer is kept, and the hub is called again only after a pause', async () => {
    const { system, payloads, primer, pass, fail } = world()
    await system('s1')
    fail(true)
    primer.compacting('s1')
    expect([await system('s1'), await system('s2'), await system('s2')]).toEqual([['primer 1'], [], []])
    expect(payloads).toHaveLength(2)
    fail(false)
    pass(PRIMER_LIMITS.primer_retry_ms)
    expect(await system('s2')).toEqual(['primer 3'])
  })
})
