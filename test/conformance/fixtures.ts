/**
 * What the official conformance suite of MCP looks for on a server: tools, prompts and resources under names
 * of the suite's. A hub of this checkout offers them beside its own when it is told to; see `load.mjs`.
 */
import type { McpExtension, McpExtend } from '../../src/transports/mcp/extension.ts'
import { ANSWERS } from './answers.ts'
import { installPrompts } from './prompts.ts'
import { QUESTIONS } from './questions.ts'
import { readFixture, RESOURCE_TEMPLATES, RESOURCES } from './resources.ts'
import { requestState, ROUNDS } from './rounds.ts'
import { content, text, tool } from './tool.ts'

export const extend: McpExtend = ({ toolsChanged }): McpExtension => {
  const change = tool('test_trigger_tool_change', 'Says that the list of tools is another.', () => {
    toolsChanged()
    return content(text('Said.'))
  })
  const tools = [...ANSWERS, ...QUESTIONS, ...ROUNDS, change]
  return {
    capabilities: { logging: {}, prompts: {}, completions: {} },
    requestState,
    tools: new Map(tools.map((one) => [one.tool.name, one])),
    resources: RESOURCES,
    resourceTemplates: RESOURCE_TEMPLATES,
    read: readFixture,
    install: installPrompts,
  }
}
