/** Checks the primer that a model was shown, and the project memory that it quotes. */
import fs from 'node:fs'
import path from 'node:path'
import { encode } from 'gpt-tokenizer'
import { expect } from 'vitest'
import { PERSONA, type ClientWorld } from './client-world.ts'
import { PRIMER_LIMITS } from '../../../src/contracts/limits/primer.ts'

const WARNING = 'Do not touch the cache'
/** The MCP instructions begin with the same two lines, so the lines after them count too. */
const PRIMER = new RegExp(
  `You are ${PERSONA}, an agent in a team.*\\nOther agents.*\\n.*signals? waits?.*\\n(?:Taken .*\\n)?Take them.*\\n.*\\n- warning: ${WARNING}`,
  'g',
)

/** Prepares a persona in the scene's project, with a teammate and a warning in the project's memory. */
export async function primeable(world: ClientWorld, surface: string): Promise<void> {
  await world.call('personas', 'add', { identity: PERSONA, surface, project: world.project })
  await world.call('personas', 'add', { identity: 'cyd', surface: 'mcp', project: world.project })
  const entry = {
    ...{ id: '01KBQ000000000000000000000', timestamp: '2026-01-31T12:00:00.000Z', agent_id: 'cyd' },
    ...{ entry_type: 'warning', tags: [], relates_to: [], scope: 'project', summary: WARNING, detail: '' },
  }
  fs.mkdirSync(path.join(world.project, '.turnbell'))
  fs.writeFileSync(path.join(world.project, '.turnbell', 'blackboard.jsonl'), `${JSON.stringify(entry)}\n`)
}

/** Returns the primers in a text shown to a model; checks the content and length of each. */
export function primersIn(text: string): string[] {
  const primers = [...text.matchAll(PRIMER)].map(([primer]) => primer)
  for (const primer of primers) {
    expect(primer).toContain('Other agents: cyd (mcp)')
    expect(primer).toContain('signals_pending')
    expect(encode(primer).length).toBeLessThanOrEqual(PRIMER_LIMITS.primer_tokens_max)
  }
  return primers
}
