/** A real hub with a persona whose project is a temporary directory. */
import fs from 'node:fs'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { onTestFinished } from 'vitest'
import { Refused, hubHttp, type HubHttp } from '../worlds/hub-http.ts'
import { memoryFiles, type MemoryFiles } from '../disk/memory-files.ts'
import { BIN, cleanEnvironment, end, startHub, temporaryHome, type Running } from './processes.ts'
import { temporaryDirectory } from '../temporary-directory.ts'
import type { Problem } from '../../../src/contracts/errors/errors.ts'

/** Response fields that tests read; which ones are present depends on the call. */
export interface Said {
  [field: string]: unknown
  id: string
  timestamp: string
  warning_id: string
  new_decision_id: string
  archive_file: string | null
  markdown: string
  results: { entry: { id: string }; relevance: number }[]
  entries: { id: string; summary: string }[]
  decisions: { id: string; summary: string }[]
  neighbors: { entity: { name: string }; relation: { type: string } }[]
  related_entities: { name: string }[]
  warnings: string[]
}

export interface ProjectHub {
  home: string
  root: string
  project_id: string
  http: HubHttp
  files: MemoryFiles
  /** Returns the current hub process. */
  running(): Running
  /** Starts another hub on the same home and port; the previous one must have ended. */
  again(): Promise<void>
  token(identity: string, kind?: 'agent' | 'observer'): Promise<string>
  /** Calls `/call` as ada. */
  call<T extends object = Said>(tool: string, params?: object): Promise<T>
  /** Returns the problem of a rejected call; throws if it succeeds. */
  refused(tool: string, params?: object): Promise<Problem>
}

export const ADA = 'ada'

export async function projectHub(root = temporaryDirectory()): Promise<ProjectHub> {
  const home = temporaryHome()
  onTestFinished(() => fs.rmSync(home, { recursive: true, force: true }))
  let running = await startHub(home)
  onTestFinished(async () => void (await end(running, 'SIGTERM')))
  const http = hubHttp(home)
  const { project_id } = await http.post<{ project_id: string }>('/api/personas/add', {
    ...{ identity: ADA, surface: 'mcp', project: root },
  })
  const token: ProjectHub['token'] = async (identity, kind = 'agent') =>
    (await http.post<{ token: string }>('/auth/token', { identity, kind })).token
  const as_ada = await token(ADA)
  const call: ProjectHub['call'] = async <T>(tool: string, params: object = {}) =>
    (await http.post<{ result: T }>('/call', { tool, params }, as_ada)).result
  return {
    ...{ home, root, project_id, http, token, call, files: memoryFiles(fs.realpathSync(root)) },
    running: () => running,
    again: async () => void (running = await startHub(home)),
    async refused(tool, params) {
      try {
        await call(tool, params)
      } catch (error) {
        if (error instanceof Refused) return error.problem
        throw error
      }
      throw new Error(`${tool} was not refused`)
    },
  }
}

export interface Agent {
  /** Returns the result or throws the problem; `scope` names the project in `_meta`. */
  call<T extends object = Said>(tool: string, args?: object, scope?: string): Promise<T>
}

/** Connects the official MCP client to the hub, or to `turnbell mcp` started as a client starts it. */
export async function agentOf(hub: ProjectHub, way: 'http' | 'stdio', identity = ADA): Promise<Agent> {
  const client = new Client(
    { name: 'agent', version: '1' },
    { versionNegotiation: { mode: { pin: '2026-07-28' } } },
  )
  const url = new URL('/mcp', hub.http.url())
  await client.connect(
    way === 'http'
      ? new StreamableHTTPClientTransport(url, {
          requestInit: { headers: { authorization: `Bearer ${await hub.token(identity)}` } },
        })
      : new StdioClientTransport({
          command: process.execPath,
          args: [
            BIN,
            'mcp',
            '--stdio',
            '--persona',
            identity,
            '--create',
            '--home',
            hub.home,
            '--no-autostart',
          ],
          env: cleanEnvironment() as Record<string, string>,
          stderr: 'ignore',
        }),
  )
  onTestFinished(() => client.close())
  return {
    async call<T extends object>(tool: string, args: object = {}, scope?: string) {
      const { isError, structuredContent } = (await client.callTool({
        name: tool,
        arguments: args as Record<string, unknown>,
        ...(scope === undefined ? {} : { _meta: { scope } }),
      })) as { isError?: boolean; structuredContent?: unknown }
      if (isError === true) throw new Refused(structuredContent as Problem)
      return structuredContent as T
    },
  }
}
