/** Which way into a session the next bell takes, and who hears of one that leads nowhere. */
import { beforeEach, describe, expect, test } from 'vitest'
import { waysInto, type Ways } from '../../../adapters/claude-code/ways.ts'
import { silentLog, type Log } from '../../../src/ports/log.ts'
import type { Posted, Way } from '../../../src/ports/way.ts'

let posted: string[]
let answers: Record<string, Posted>
let warned: string[]
let ways: Ways

const way = (name: string): Way => ({
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
    warn: (fields, message) => warned.push(`${JSON.stringify(fields)} ${message}`),
  }
  ways = waysInto([way('inbox'), way('pipe')], log)
})

test('the first way is taken as long as it loses nothing', async () => {
  await ways.post('1')
  await ways.post('2')
  expect(posted).toEqual(['inbox: 1', 'inbox: 2'])
  expect(warned).toEqual([])
})

describe('a way at whose end nobody stands', () => {
  test('passes the same bell on to the next, and is told of once', async () => {
    answers['inbox'] = 'unavailable'
    expect(await ways.post('1')).toBe('sent')
    await ways.post('2')
    expect(posted).toEqual(['pipe: 1', 'pipe: 2'])
    expect(warned).toEqual(['{"way":"inbox"} nobody is there; bells go by the pipe'])
  })

  test('is the first again once somebody is there', async () => {
    answers['inbox'] = 'unavailable'
    await ways.post('1')
    delete answers['inbox']
    await ways.post('2')
    expect(posted).toEqual(['pipe: 1', 'inbox: 2'])
  })

  test('with no other way is unavailable', async () => {
    answers = { inbox: 'unavailable', pipe: 'unavailable' }
    expect(await ways.post('1')).toBe('unavailable')
    expect(warned).toEqual(['{"way":"inbox"} nobody is there, and there is no other way'])
  })
})

describe('a way that lost a bell', () => {
  test('is left for the next one, which stays', async () => {
    await ways.post('1')
    ways.lost()
    await ways.post('2')
    await ways.post('3')
    expect(posted).toEqual(['inbox: 1', 'pipe: 2', 'pipe: 3'])
    expect(warned).toEqual(['{"way":"inbox"} lost a bell; the next goes by the pipe'])
  })

  test('is tried again when the next one loses one too', async () => {
    for (const text of ['1', '2', '3']) {
      await ways.post(text)
      ways.lost()
    }
    expect(posted).toEqual(['inbox: 1', 'pipe: 2', 'inbox: 3'])
  })

  test('is tried again when nobody stands at the end of the next', async () => {
    answers['pipe'] = 'unavailable'
    await ways.post('1')
    ways.lost()
    expect(await ways.post('2')).toBe('sent')
    expect(posted).toEqual(['inbox: 1', 'inbox: 2'])
  })
})

test('a bell that may have arrived is not sent by another way at once', async () => {
  answers['inbox'] = 'failed'
  expect(await ways.post('1')).toBe('failed')
  expect(posted).toEqual(['inbox: 1'])
})

test('no bell was posted, so none is lost', async () => {
  ways.lost()
  await ways.post('1')
  expect(posted).toEqual(['inbox: 1'])
})
