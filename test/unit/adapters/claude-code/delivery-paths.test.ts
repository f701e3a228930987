/** Tests which delivery path the next doorbell uses, and the log messages about a broken one. */
import { beforeEach, describe, expect, test } from 'vitest'
import { deliveryPaths, type DeliveryPaths } from '../../../../adapters/claude-code/delivery-paths.ts'
import { silentLog, type Log } from '../../../../src/ports/log.ts'
import type { PostOutcome, DeliveryPath } from '../../../../src/ports/delivery-path.ts'

let posted: string[]
let answers: Record<string, PostOutcome>
let warned: object[]
let paths: DeliveryPaths

const path = (name: string): DeliveryPath => ({
  name,
  async post(text) {
    const answer = answers[name] ?? 'sent'
    if (answer !== 'unavailable') posted.push(`${name}: ${text}`)
    return answer
  },
})

beforeEach(() => {
  posted = []
  answers = {}
  warned = []
  const log: Log = {
    ...silentLog,
    warn: (fields) => warned.push(fields),
  }
  paths = deliveryPaths([path('inbox'), path('pipe')], log)
})

test('the first delivery path is used while it loses nothing', async () => {
  await paths.post('1')
  await paths.post('2')
  expect(posted).toEqual(['inbox: 1', 'inbox: 2'])
  expect(warned).toEqual([])
})

describe('a delivery path without a receiver', () => {
  test('a path without a receiver passes the doorbell on to the next, and is logged once', async () => {
    answers['inbox'] = 'unavailable'
    expect(await paths.post('1')).toBe('sent')
    await paths.post('2')
    expect(posted).toEqual(['pipe: 1', 'pipe: 2'])
    expect(warned).toEqual([{ path: 'inbox', next: 'pipe' }])
  })

  test('a path is preferred again when it has a receiver', async () => {
    answers['inbox'] = 'unavailable'
    await paths.post('1')
    delete answers['inbox']
    await paths.post('2')
    expect(posted).toEqual(['pipe: 1', 'inbox: 2'])
  })

  test('posting is unavailable if no path has a receiver', async () => {
    answers = { inbox: 'unavailable', pipe: 'unavailable' }
    expect(await paths.post('1')).toBe('unavailable')
    expect(warned).toEqual([{ path: 'inbox' }])
  })
})

describe('a delivery path that lost a doorbell', () => {
  test('a lossy path is replaced by the next one', async () => {
    await paths.post('1')
    paths.markLost()
    await paths.post('2')
    await paths.post('3')
    expect(posted).toEqual(['inbox: 1', 'pipe: 2', 'pipe: 3'])
    expect(warned).toEqual([{ path: 'inbox', next: 'pipe' }])
  })

  test('a lossy path is used again when the next one loses a doorbell', async () => {
    for (const text of ['1', '2', '3']) {
      await paths.post(text)
      paths.markLost()
    }
    expect(posted).toEqual(['inbox: 1', 'pipe: 2', 'inbox: 3'])
  })

  test('a lossy path is used again if the next one has no receiver', async () => {
    answers['pipe'] = 'unavailable'
    await paths.post('1')
    paths.markLost()
    expect(await paths.post('2')).toBe('sent')
    expect(posted).toEqual(['inbox: 1', 'inbox: 2'])
  })
})

test('a doorbell that may have arrived is not sent by another path', async () => {
  answers['inbox'] = 'failed'
  expect(await paths.post('1')).toBe('failed')
  expect(posted).toEqual(['inbox: 1'])
})

test('markLost without a post has no effect', async () => {
  paths.markLost()
  await paths.post('1')
  expect(posted).toEqual(['inbox: 1'])
})
