/** House facts: what is declared in one place is documented and exercised in the others. */
import fs from 'node:fs'
import path from 'node:path'
import { describe, expect, test } from 'vitest'
import { ControlVerb, MachineState } from '../src/contracts/control.ts'
import { SignalStatus } from '../src/contracts/signal.ts'
import { ERRORS } from '../src/contracts/error-catalogue.ts'
import { LIMITS } from '../src/contracts/limits.ts'
import { DAEMON_METRICS, DaemonErrorClass } from '../src/contracts/metrics.ts'

const ROOT = path.resolve(import.meta.dirname, '..')
const read = (file: string) => fs.readFileSync(path.join(ROOT, file), 'utf8')

function sources(...directories: string[]): Map<string, string> {
  const found = new Map<string, string>()
  for (const directory of directories) {
    for (const name of fs.readdirSync(path.join(ROOT, directory), { recursive: true, encoding: 'utf8' })) {
      if (/\.(ts|mjs|json|md|service|plist|xml)$/.test(name))
        found.set(path.join(directory, name), read(path.join(directory, name)))
    }
  }
  return found
}

const product = sources('src', 'adapters')
const tests = sources('test')
const everything = (files: Map<string, string>, except = '') =>
  [...files]
    .filter(([name]) => name !== except)
    .map(([, text]) => text)
    .join('\n')

describe('the error catalogue', () => {
  const codes = Object.keys(ERRORS)

  test('has no code that nothing throws', () => {
    const used = everything(product, 'src/contracts/error-catalogue.ts')
    expect(codes.filter((code) => !used.includes(`'${code}'`))).toEqual([])
  })
  test('has no code that no test provokes', () => {
    const provoked = everything(tests, 'test/tidy.test.ts')
    expect(codes.filter((code) => !provoked.includes(code))).toEqual([])
  })
})

describe('the limits', () => {
  test('are all used', () => {
    const used = everything(product, 'src/contracts/limits.ts')
    expect(Object.keys(LIMITS).filter((name) => !used.includes(`LIMITS.${name}`))).toEqual([])
  })
  test('keep their order', () => {
    expect(LIMITS.registration_expire_ms).toBeGreaterThan(2 * LIMITS.heartbeat_interval_ms)
    expect(LIMITS.link_silence_max_ms).toBeGreaterThan(LIMITS.ws_ping_interval_ms)
    expect(LIMITS.ws_silence_max_ms).toBeGreaterThan(LIMITS.ws_ping_interval_ms)
    expect(LIMITS.bell_receipt_ms).toBeLessThan(LIMITS.reconnect_patience_ms)
    expect(LIMITS.spool_waiting_bytes_max).toBeLessThan(LIMITS.spool_bytes_max)
    expect(LIMITS.payload_bytes_max).toBeLessThan(LIMITS.body_bytes_max)
  })
})

describe('the readme', () => {
  const readme = read('README.md')

  test('lists every control verb, state, status and metric', () => {
    const words = [
      ...ControlVerb.options,
      ...MachineState.options,
      ...SignalStatus.options,
      ...Object.keys(DAEMON_METRICS),
    ]
    expect(words.filter((word) => !readme.includes(`\`${word}`))).toEqual([])
  })
  test('states the number of series at fifty personas', () => {
    const plain = Object.values(DAEMON_METRICS).filter(
      (metric) => !metric.labels.includes('error_class' as never),
    ).length
    const byClass = Object.keys(DAEMON_METRICS).length - plain
    expect(50 * (plain + byClass * DaemonErrorClass.options.length)).toBe(1200)
    expect(readme).toContain('1,200')
  })
})

describe('the architecture page', () => {
  test('names only files that exist', () => {
    const linked = [...read('ARCHITECTURE.md').matchAll(/\]\(((?:src|adapters|docs|test)[^)*]*)\)/g)].map(
      (found) => String(found[1]),
    )
    expect(linked.length).toBeGreaterThan(10)
    expect(linked.filter((file) => !fs.existsSync(path.join(ROOT, file)))).toEqual([])
  })
})

describe('the house', () => {
  test('every port with promises has a suite', () => {
    for (const port of ['signal-store', 'record-store', 'event-log', 'surface']) {
      expect(fs.existsSync(path.join(ROOT, `test/suites/${port}.suite.ts`)), port).toBe(true)
    }
  })

  test('no file holds a registry address, and no test sleeps', () => {
    const lock = read('package-lock.json')
    expect(lock).not.toMatch(/"resolved"/)
    for (const [name, text] of tests) {
      // A soak is a day in the life of real processes, and takes its time.
      if (name === 'test/tidy.test.ts' || name.startsWith('test/soak/')) continue
      expect(text, name).not.toMatch(/await (sleep|delay|pause)\(|setTimeout\((resolve|ok|r|done),/)
    }
  })

  // The linter keeps the rest of the outside world out of these rooms; it cannot see a missing argument.
  test('only the system and a main ask what day it is', () => {
    const asks = [...product]
      .filter(([name]) => !name.startsWith('src/system/') && !name.startsWith('src/storage/'))
      .filter(([name]) => name.endsWith('.ts') && path.basename(name) !== 'main.ts')
      .filter(([, text]) => text.includes('new Date()'))
    expect(asks.map(([name]) => name)).toEqual([])
  })

  test('no product file is longer than 500 lines', () => {
    const long = [...product].filter(([name, text]) => name.endsWith('.ts') && text.split('\n').length > 500)
    expect(long.map(([name]) => name)).toEqual([])
  })
})
