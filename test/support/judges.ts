/** External programs that check the hub's API, run from the ignored folder `.judges/`. */
import { spawn } from 'node:child_process'
import fs from 'node:fs'
import { createRequire } from 'node:module'
import os from 'node:os'
import path from 'node:path'
import { parse } from 'yaml'
import { cleanEnvironment } from './processes/processes.ts'

const JUDGES = path.resolve(import.meta.dirname, '../../.judges')
const at = (...names: string[]) => path.join(JUDGES, 'node_modules', ...names)

/** A newer Node than the one that turnbell requires. */
const NODE_22 = at('node/bin/node')
const CONFORMANCE = at('@modelcontextprotocol/conformance')
const INSPECTOR = at('@modelcontextprotocol/inspector/cli/build/cli.js')
const REDOCLY = at('@redocly/cli/bin/cli.js')

export interface Verdict {
  code: number
  stdout: string
  stderr: string
}

/** Runs a program until it exits, with an empty home and without credentials. */
function judge(node: string, args: readonly string[]): Promise<Verdict> {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), 'judge-'))
  const env = cleanEnvironment({
    ...{ HOME: home, XDG_CONFIG_HOME: home, NO_COLOR: '1' },
    ...{ REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' },
  })
  const child = spawn(node, args, { cwd: home, env, stdio: ['ignore', 'pipe', 'pipe'] })
  let stdout = ''
  let stderr = ''
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()))
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()))
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (code) => resolve({ code: code ?? -1, stdout, stderr }))
  })
}

/** Returns the scenarios that a server must pass to conform to a revision of the specification. */
export function requiredScenarios(revision: string): string[] {
  const file = path.join(CONFORMANCE, 'requirements', `${revision}.yaml`)
  return (parse(fs.readFileSync(file, 'utf8')) as { server: string[] }).server
}

export interface Check {
  id: string
  status: 'SUCCESS' | 'FAILURE' | 'WARNING' | 'SKIPPED' | 'INFO'
  description: string
  errorMessage?: string
}

/**
 * Runs the required scenarios of a revision, or one scenario, against an MCP address. Returns all checks by scenario.
 */
export async function conformance(
  url: string,
  what: { requirements: string } | { scenario: string },
): Promise<{ verdict: Verdict; checks: Map<string, Check[]> }> {
  const results = fs.mkdtempSync(path.join(os.tmpdir(), 'conformance-'))
  const program = path.join(CONFORMANCE, 'dist/index.js')
  const asked = Object.entries(what).flatMap(([name, value]) => [`--${name}`, value])
  const options = ['--url', url, ...asked, '--output-dir', results]
  const verdict = await judge(NODE_22, [program, 'server', ...options])
  const checks = new Map<string, Check[]>()
  for (const name of fs.readdirSync(results)) {
    // A folder name consists of the scenario and the time.
    const scenario = /^server-(.+?)-\d{4}-\d\d-\d\dT/.exec(name)?.[1] ?? name
    const text = fs.readFileSync(path.join(results, name, 'checks.json'), 'utf8')
    checks.set(scenario, JSON.parse(text) as Check[])
  }
  return { verdict, checks }
}

/** `target` is a URL, or a command that speaks MCP on stdin and stdout. */
export function inspect(target: readonly string[], options: readonly string[]): Promise<Verdict> {
  return judge(process.execPath, [INSPECTOR, '--cli', ...target, ...options])
}

export interface LintProblem {
  ruleId: string
  severity: string
  message: string
  location: { pointer?: string }[]
}

/** Returns the findings of redocly for an OpenAPI document, with its strictest rules. */
export async function lintOpenApi(document: unknown): Promise<LintProblem[]> {
  const file = path.join(fs.mkdtempSync(path.join(os.tmpdir(), 'openapi-')), 'openapi.json')
  fs.writeFileSync(file, JSON.stringify(document))
  const options = ['--extends', 'recommended-strict', '--format', 'json']
  const { stdout, stderr } = await judge(process.execPath, [REDOCLY, 'lint', file, ...options])
  try {
    return (JSON.parse(stdout) as { problems: LintProblem[] }).problems
  } catch (cause) {
    throw new Error(`redocly said nothing that could be read: ${stderr}`, { cause })
  }
}

/** Returns the errors of the official parser for an AsyncAPI document. */
export async function parseAsyncApi(document: unknown): Promise<string[]> {
  const { Parser } = createRequire(path.join(JUDGES, 'package.json'))('@asyncapi/parser') as AsyncApi
  const { diagnostics } = await new Parser().parse(JSON.stringify(document))
  return diagnostics
    .filter(({ severity }) => severity <= ASYNCAPI_WARNING)
    .map(({ code, message, path: where }) => `${code} at /${where.join('/')}: ${message}`)
}

/** Higher severities are hints, such as a newer version of AsyncAPI. */
const ASYNCAPI_WARNING = 1

interface AsyncApi {
  Parser: new () => {
    parse(text: string): Promise<{
      diagnostics: {
        severity: number
        code: string | number
        message: string
        path: (string | number)[]
      }[]
    }>
  }
}
