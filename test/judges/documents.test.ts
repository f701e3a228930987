/** What the project publishes about its own surface, in the eyes of those who read such documents. */
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hubHttp } from '../support/hub-http.ts'
import { lintOpenApi, parseAsyncApi } from '../support/judges.ts'
import { end, startHub, temporaryHome, type Running } from '../support/processes.ts'

describe('the OpenAPI document', () => {
  let hub: Running
  let document: Record<string, unknown>
  beforeAll(async () => {
    const home = temporaryHome()
    hub = await startHub(home)
    document = await hubHttp(home).get('/openapi.json')
  })
  afterAll(() => end(hub, 'SIGTERM'))

  test('of a running hub lints clean with redocly', async () => {
    expect(Object.keys(document['paths'] as object).length).toBeGreaterThan(10)
    expect(await lintOpenApi(document)).toEqual([])
  })

  test('would not, if something were wrong with it', async () => {
    const { info: _, ...rest } = document
    expect((await lintOpenApi(rest)).map(({ severity }) => severity)).toContain('error')
  })
})

describe('the AsyncAPI document', () => {
  const file = path.resolve(import.meta.dirname, '../../docs/asyncapi.json')

  test('of the WebSocket parses clean', async () => {
    expect(await parseAsyncApi(JSON.parse(fs.readFileSync(file, 'utf8')))).toEqual([])
  })

  test('would not, if something were wrong with it', async () => {
    expect(await parseAsyncApi({ asyncapi: '3.0.0', channels: {} })).not.toEqual([])
  })
})
