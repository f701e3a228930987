/**
 * Runs the official MCP conformance suite against a real hub of this checkout, started with the fixtures that the suite
 * requires. No requirement of a revision is skipped.
 */
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { conformance, requiredScenarios, type Check } from '../support/judges.ts'
import { startTokenRelay } from '../support/fakes/token-relay.ts'
import { end, startHub, temporaryHome, type Running } from '../support/processes/processes.ts'

let hub: Running & { url: string }
let operator: string

beforeAll(async () => {
  const home = temporaryHome()
  hub = await startHub(home, ['--port', '0'], { TURNBELL_CONFORMANCE: '1' })
  operator = fs.readFileSync(path.join(home, 'secrets/operator.token'), 'utf8').trim()
})
afterAll(() => end(hub, 'SIGTERM'))

describe.each(['2025-11-25', '2026-07-28'])('%s is spoken as the suite requires', (revision) => {
  let found: Awaited<ReturnType<typeof conformance>>
  beforeAll(async () => {
    // The suite cannot send turnbell's headers.
    found = await conformance(`${hub.url}/mcp?token=${operator}`, { requirements: revision })
  })

  test.each(requiredScenarios(revision))('%s', (scenario) => {
    expect(faults(found.checks.get(scenario))).toEqual([])
  })

  test('the suite itself reports no failure', () => {
    expect(found.verdict, found.verdict.stdout.slice(-2000)).toMatchObject({ code: 0 })
  })
})

// The suite does not count this scenario yet, but turnbell's fast path for plain calls depends on these headers.
test('the headers of 2026-07-28 are checked like in the suite', async () => {
  // This scenario drops the query of the address.
  const relay = await startTokenRelay(hub.url, operator)
  const scenario = 'http-header-validation'
  try {
    const { checks } = await conformance(`${relay.url}/mcp`, { scenario })
    expect(faults(checks.get(scenario))).toEqual([])
  } finally {
    await relay.close()
  }
})

function faults(checks: Check[] | undefined): string[] {
  if (checks === undefined || checks.length === 0) return ['it was not run']
  const found = checks.filter(({ status }) => status === 'FAILURE' || status === 'WARNING')
  return found.map(({ id, description, errorMessage = '' }) => `${id}: ${description} ${errorMessage}`)
}
