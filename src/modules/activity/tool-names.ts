/** What the name and the input of a tool call show: the kind of tool, its effective name, and the files. */
import type { ToolType } from '../../contracts/activity/views.ts'
import type { Json } from '../../contracts/ids.ts'

/** Tools that start or direct agents, in lower case. */
const AGENT_TOOLS: ReadonlySet<string> = new Set([
  'task',
  'agent',
  'taskcreate',
  'taskupdate',
  'taskoutput',
  'taskstop',
  'sendmessage',
  'subagent',
  'spawn_agent',
  'spawn_agents_on_csv',
  'list_agents',
  'interrupt_agent',
  'followup_task',
  'send_input',
  'wait_agent',
  'close_agent',
  'resume_agent',
  'collabtoolcall',
  'collabagenttoolcall',
])
const SKILL_TOOLS: ReadonlySet<string> = new Set(['skill'])

/** Tools of Codex and opencode whose names contain an underscore or a slash, unlike `<server>_<tool>`. */
const BUILT_IN: ReadonlySet<string> = new Set([
  'apply_patch',
  'update_plan',
  'view_image',
  'web_search',
  'exec_command',
  'write_stdin',
  'local_shell',
  'unified_exec',
  'read_file',
  'list_dir',
  'grep_files',
  'request_user_input',
  'image_generation',
  'request_permissions',
  'js_repl',
  'tool_search',
  'list_mcp_resources',
  'list_mcp_resource_templates',
  'read_mcp_resource',
  'get_goal',
  'create_goal',
  'update_goal',
  'plan_exit',
  'plan_enter',
])

/** Returns the type of a tool by its name. A server of Codex and opencode is the part before `.`, `/` or `_`. */
export function toolType(tool: string, client: string): ToolType {
  const name = tool.toLowerCase()
  if (AGENT_TOOLS.has(name)) return 'agent'
  if (SKILL_TOOLS.has(name)) return 'skill'
  if (name.startsWith('mcp__') || name.startsWith('mcp:')) return 'mcp'
  if (client === 'claude-code' || BUILT_IN.has(name)) return 'builtin'
  return /^[\w-]{1,128}[./_][\w./-]{1,128}$/.test(name) ? 'mcp' : 'builtin'
}

/** Returns the name of the skill or subagent that a call starts, otherwise the name of the tool. */
export function effectiveName(tool: string, type: ToolType, input: Json | undefined): string {
  const fields =
    type === 'skill'
      ? ['skill', 'skill_name', 'name', 'command']
      : type === 'agent'
        ? ['subagent_type', 'agent_type', 'agent', 'role']
        : []
  for (const field of fields) {
    const name = memberOf(input, field)
    if (typeof name === 'string' && name !== '') return name.slice(0, NAME_LENGTH_MAX)
  }
  return tool
}

const NAME_LENGTH_MAX = 256
const PATH_FIELDS = [
  'file_path',
  'filePath',
  'path',
  'paths',
  'notebook_path',
  'notebookPath',
  'file_paths',
  'filePaths',
  'files',
  'file',
  'workdir',
]
const PATHS_MAX = 64
const PATH_LENGTH_MAX = 4_096

/** Returns the files that a tool's input names in well-known fields: at most 64, each once. */
export function filePaths(input: Json | undefined): string[] {
  const found = new Set<string>()
  for (const field of PATH_FIELDS) {
    for (const path of pathsIn(memberOf(input, field))) {
      if (found.size >= PATHS_MAX) return [...found]
      found.add(path)
    }
  }
  // Codex reports file changes as a list, or as a mapping from the path.
  const changes = memberOf(input, 'changes')
  const listed = Array.isArray(changes)
    ? changes.flatMap((change) => pathsIn(memberOf(change, 'path')))
    : Object.keys(isMapping(changes) ? changes : {})
  for (const path of listed.slice(0, PATHS_MAX - found.size)) found.add(path.slice(0, PATH_LENGTH_MAX))
  return [...found]
}

function pathsIn(value: Json | undefined): string[] {
  const values = Array.isArray(value) ? value.slice(0, PATHS_MAX) : [value]
  return values.filter(
    (one): one is string => typeof one === 'string' && one !== '' && one.length <= PATH_LENGTH_MAX,
  )
}

/** Returns the words of a shell command, to which a file may belong. */
export function commandWords(input: Json | undefined): string[] {
  const command = memberOf(input, 'command') ?? memberOf(input, 'cmd')
  const parts = Array.isArray(command) ? command : [command]
  return parts
    .flatMap((part) => (typeof part === 'string' ? part.slice(0, 65_536).split(/[\s'"`=;|&<>(){}$]+/) : []))
    .filter((word) => word !== '')
    .slice(0, 1_000)
}

function memberOf(value: Json | undefined, name: string): Json | undefined {
  return isMapping(value) && Object.hasOwn(value, name) ? value[name] : undefined
}
function isMapping(value: Json | undefined): value is Record<string, Json> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
