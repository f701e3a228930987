/** Tests the threads of the fuzzer: all targets are tried, even if some end or hang their threads. */
import fs from 'node:fs'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { createCrew, type CrewNeeds } from '../../fuzz/coverage/crew.mjs'
import { eventually } from '../../support/eventually.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

/** Like `main.ts`, with targets named after their behaviour and equal shares. */
const THREAD = `
  import { parentPort, workerData } from 'node:worker_threads'
  // The setting "home" contains the names of the targets.
  const { beats, now, home: names } = workerData
  parentPort.on('message', (order) => {
    if (order === null) process.exit()
    if (order.name === 'unopened') throw new Error('its world could not be made')
    Atomics.store(beats, 1, 3)
    now.set(Buffer.from('abc'))
    Atomics.add(beats, 0, 1)
    if (order.name === 'exits') process.exit(7)
    if (order.name === 'hangs') for (;;);
    if (order.name === 'throws') throw new Error('no more room')
    if (order.name === 'fails') return parentPort.postMessage({ about: 'failed', error: 'a bug of its own' })
    if (order.name === 'waits') return
    if (order.name === 'breaks')
      parentPort.postMessage({ about: 'crash', input: Buffer.from('xyz'), error: 'broken', alone: true })
    parentPort.postMessage({ about: 'target', name: order.name, inputs: order.inputs })
  })
  if (names === '') process.exit(9)
  const targets = names.split(' ').map((name) => ({ name, promise: 'it holds', share: 1 }))
  parentPort.postMessage({ about: 'targets', targets })
`

function crewOf(targets: string, more: Partial<CrewNeeds> = {}) {
  const file = path.join(temporaryDirectory(), 'thread.mjs')
  fs.writeFileSync(file, THREAD)
  const told: string[] = []
  const crew = createCrew({
    ...{ file: pathToFileURL(file), threads: 2, names: [], inputs: 300, minutes: Infinity },
    ...{ hang_ms: 30_000, sources: false },
    settings: { seed: 1, ways: 4, only: null, corpus: '', home: targets },
    report: {
      target: ({ name, inputs }) => void told.push(`${name}: ${inputs}`),
      unfinished: (name, inputs) => void told.push(`${name}: ${inputs}, unfinished`),
      crash: ({ name }, input, error, alone) =>
        void told.push(
          `${name} broke: ${Buffer.from(input).toString()}, ${error.split('\n')[0]}${alone ? ', alone' : ''}`,
        ),
    },
    ...more,
  })
  return { ...crew, told }
}

test.each([1, 2, 8])(
  'every target is tried once by %i threads, with its share of the inputs',
  async (threads) => {
    const { ended, told } = crewOf('one two three', { threads })
    expect(await ended).toBeNull()
    expect(told.toSorted()).toEqual(['one: 100', 'three: 100', 'two: 100'])
  },
)

test('only the named targets share the inputs', async () => {
  const { ended, told } = crewOf('one two three', { names: ['three', 'one'] })
  expect(await ended).toBeNull()
  expect(told.toSorted()).toEqual(['one: 150', 'three: 150'])
})

test.each([
  ['exits', 'abc, it ended the thread with 7, alone'],
  ['throws', 'abc, Error: no more room'],
  ['hangs', 'abc, nothing came of it in 1000 ms, alone'],
])('an input that %s is reported with that input, and other inputs are still tried', async (name, what) => {
  const { ended, told } = crewOf(`${name} two`, {
    threads: 1,
    ...(name === 'hangs' ? { hang_ms: 1_000 } : {}),
  })
  expect(await ended).toBeNull()
  expect(told).toEqual([`${name} broke: ${what}`, `${name}: 1, unfinished`, 'two: 150'])
})

test('a target whose world cannot be created is not reported with an input of the previous one', async () => {
  const { ended, told } = crewOf('one unopened', { threads: 1 })
  expect(await ended).toBeNull()
  expect(told).toEqual([
    'one: 150',
    'unopened broke: , Error: its world could not be made',
    'unopened: 0, unfinished',
  ])
})

test('findings of a thread are reported for its target', async () => {
  const { ended, told } = crewOf('breaks two', { threads: 1 })
  expect(await ended).toBeNull()
  expect(told).toEqual(['breaks broke: xyz, broken, alone', 'breaks: 150', 'two: 150'])
})

test.each([
  ['the fuzzer itself fails', 'fails two', 'a bug of its own'],
  ['its threads cannot begin', '', 'a thread ended with 9 before it tried anything'],
])('the fuzzer stops and reports it if %s', async (_, targets, failure) => {
  const { ended, told } = crewOf(targets, { threads: 1 })
  expect(await ended).toBe(failure)
  expect(told.filter((line) => !line.endsWith('unfinished'))).toEqual([])
})

test('a stopped crew reports its remaining targets', async () => {
  const { ended, stop, told } = crewOf('one waits two', { threads: 1 })
  await eventually('the first is done', () => told.length > 0)
  await stop()
  expect(await ended).toBeNull()
  expect(told).toEqual(['one: 100', expect.stringMatching(/^waits: [01], unfinished$/), 'two: 0, unfinished'])
})
