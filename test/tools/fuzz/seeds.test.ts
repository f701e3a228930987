/** Tests that the seeds pass validation, because a rejected seed does not reach the code after it. */
import { parse } from 'node:querystring'
import { expect, test } from 'vitest'
import * as z from 'zod'
import { FACADES } from '../../../src/facades/all.ts'
import { queryReader } from '../../../src/kernel/query-reader.ts'
import { createRegistry } from '../../../src/kernel/registry.ts'
import { samplesOf } from '../../fuzz/seeds.ts'
import type { Target } from '../../fuzz/target.ts'
import { clientFrames } from '../../fuzz/targets/client-frames.ts'
import { http } from '../../fuzz/targets/http.ts'
import { hubFrames } from '../../fuzz/targets/hub-frames.ts'
import { mcpHttp } from '../../fuzz/targets/mcp-http.ts'
import { socketLines } from '../../fuzz/targets/socket-lines.ts'
import { seededRandom } from '../../support/fakes/fake-clock.ts'
import { temporaryDirectory } from '../../support/temporary-directory.ts'

/** Codes of a request that fails validation; MCP uses the same for unknown methods. */
const AT_THE_DOOR = /^(?!.*-3260[12] request).*\b(frame_invalid|params_invalid|request_invalid)\b/
const ACTIONS = createRegistry(FACADES).actions

async function stopped(target: Target, which: 'seeds' | 'broken_seeds'): Promise<string[]> {
  const opened = await target.open({ random: seededRandom(1), directory: temporaryDirectory() })
  const found: string[] = []
  for (const seed of opened[which] ?? []) {
    const outcome = await opened.attempt(Buffer.from(seed))
    if (AT_THE_DOOR.test(outcome) && !isTaken(String(seed))) found.push(`${outcome}: ${String(seed)}`)
  }
  await opened.close?.()
  return found
}

/** A request that passes the schema may still be rejected by the action. */
function isTaken(request: string): boolean {
  const [, url = '', body] = /^POST (\S+)\n[^]*?\n\n([^]*)/.exec(request) ?? []
  const [query_url = '', query = ''] = /^GET (\S+)/.exec(request)?.[1]?.split('?') ?? []
  return ACTIONS.some(({ facade, name, action }) => {
    const own = `/api/${facade.name}/${name}`
    if (url === own) return action.input.safeParse(JSON.parse(body as string)).success
    return query_url === own && action.input.safeParse(queryReader(action)(parse(query))).success
  })
}

test.each([clientFrames, hubFrames, socketLines, http, mcpHttp])(
  'no seed of $name is rejected by validation',
  async (target) => {
    expect(await stopped(target, 'seeds')).toEqual([])
  },
)

test('a deliberately invalid seed is distinguished', async () => {
  expect(await stopped(socketLines, 'broken_seeds')).toHaveLength(1)
})

test('a generated value that its schema rejects is not a sample', () => {
  const even = z
    .number()
    .int()
    .min(0)
    .max(1_000)
    .refine((value) => value % 2 === 0)
  const samples = samplesOf(even, 20) as number[]
  expect(samples).toHaveLength(20)
  expect(samples.filter((value) => value % 2 === 1)).toEqual([])
})
