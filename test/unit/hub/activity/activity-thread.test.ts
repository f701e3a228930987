import { describe, expect, test } from 'vitest'
import { createActivityThread, type StartThread } from '../../../../src/hub/activity/activity-thread.ts'
import type { ThreadMessage, ThreadRequest } from '../../../../src/hub/activity/thread-messages.ts'
import { silentLog } from '../../../../src/ports/log.ts'
import { fakeClock } from '../../../support/fakes/fake-clock.ts'

function world() {
  const clock = fakeClock()
  const threads: {
    posted: ThreadRequest[]
    answer(message: ThreadMessage): void
    end(): void
    ended: boolean
  }[] = []
  const logged: string[] = []
  const start: StartThread = ({ onMessage, onEnd }) => {
    const thread = {
      posted: [] as ThreadRequest[],
      answer: onMessage,
      end: () => onEnd(new Error('killed')),
      ended: false,
    }
    threads.push(thread)
    return {
      post: (request) => void thread.posted.push(request),
      end() {
        thread.ended = true
        return Promise.resolve()
      },
    }
  }
  const log = { ...silentLog, error: (_: object, message: string) => void logged.push(message) }
  return { activity: createActivityThread({ start, clock, log }), threads, clock, logged }
}

describe('the activity thread', () => {
  test('starts with the first call, and answers calls in any order', async () => {
    const { activity, threads } = world()
    expect(threads).toHaveLength(0)
    const [kpis, stats] = [activity.kpis({}), activity.stats({})]
    expect(threads[0]?.posted.map(({ method }) => method)).toEqual(['kpis', 'stats'])
    threads[0]?.answer({ id: 2, result: 'the stats' })
    threads[0]?.answer({ id: 1, result: 'the figures' })
    await expect(stats).resolves.toBe('the stats')
    await expect(kpis).resolves.toBe('the figures')
  })

  test('passes an error on with its code; a bug has none', async () => {
    const { activity, threads } = world()
    const [first, second] = [activity.session({ session_id: 'x' }), activity.kpis({})]
    threads[0]?.answer({ id: 1, error: { code: 'activity_unknown', detail: 'x', hint: 'y' } })
    threads[0]?.answer({ id: 2, error: { code: null, stack: 'Error: bug' } })
    await expect(first).rejects.toMatchObject({ code: 'activity_unknown', detail: 'x', hint: 'y' })
    await expect(second).rejects.not.toHaveProperty('code')
  })

  test('that ended rejects its calls, and is started again after a while', async () => {
    const { activity, threads, clock, logged } = world()
    const asked = activity.kpis({})
    threads[0]?.end()
    await expect(asked).rejects.toMatchObject({ code: 'store_unavailable' })
    expect(logged).toHaveLength(1)
    await expect(activity.kpis({})).rejects.toMatchObject({ code: 'store_unavailable' })
    expect(threads).toHaveLength(1)
    await clock.advance(5_000)
    void activity.kpis({})
    expect(threads).toHaveLength(2)
  })

  test('is closed once, after the calls before', async () => {
    const { activity, threads } = world()
    void activity.kpis({}).catch(() => {})
    const closed = activity.close()
    expect(threads[0]?.posted.map(({ method }) => method)).toEqual(['kpis', 'close'])
    expect(threads[0]?.ended).toBe(false)
    threads[0]?.answer({ id: 2, result: null })
    await closed
    expect(threads[0]?.ended).toBe(true)
    await activity.close()
  })

  test('that never started needs no thread to close', async () => {
    const { activity, threads } = world()
    await activity.close()
    expect(threads).toHaveLength(0)
    await expect(activity.kpis({})).rejects.toMatchObject({ code: 'store_unavailable' })
  })
})
