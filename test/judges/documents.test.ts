/** Checks the project's published API documents with external linters. */
import fs from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { hubHttp } from '../support/worlds/hub-http.ts'
import { lintOpenApi, parseAsyncApi } from '../support/judges.ts'
import { end, startHub, temporaryHome, type Running } from '../support/processes/processes.ts'

describe('the OpenAPI document', () => {
  let hub: Running
  let document: Record<string, unknown>
  beforeAll(async () => {
    const home = temporaryHome()
    hub = await startHub(home)
    document = await hubHttp(home).get('/openapi.json')
  })
  afterAll(() => end(hub, 'SIGTERM'))

  test('the OpenAPI document of a running hub has no finding of redocly', async () => {
    expect(Object.keys(document['paths'] as object).length).toBeGreaterThan(10)
    expect(await lintOpenApi(document)).toEqual([])
  })

  test('an invalid OpenAPI document has findings', async () => {
    const { info: _, ...rest } = document
    expect((await lintOpenApi(rest)).map(({ severity }) => severity)).toContain('error')
  })
})

describe('the AsyncAPI document', () => {
  const file = path.resolve(import.meta.dirname, '../../docs/reference/asyncapi.json')

  test('the AsyncAPI document has no finding of its parser', async () => {
    expect(await parseAsyncApi(JSON.parse(fs.readFileSync(file, 'utf8')))).toEqual([])
  })

  test('an invalid AsyncAPI document has findings', async () => {
    expect(await parseAsyncApi({ asyncapi: '3.0.0', channels: {} })).not.toEqual([])
  })
})
