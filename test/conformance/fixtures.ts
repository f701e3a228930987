/**
 * Fixtures of the official MCP conformance suite: tools, prompts and resources under the suite's names. A hub of this
 * checkout offers them in addition to its own when configured; see `load.mjs`.
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
