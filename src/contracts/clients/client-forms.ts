/**
 * Names in the markup that agent clients use in prompts, as seen in Claude Code, Codex, opencode and chat templates.
 * `client-tags.ts` and `client-lines.ts` match by form; these lists add names that look like ordinary code.
 */

/**
 * Tags of clients, in lower case and without separators. A name with a hyphen or an underscore is recognised without an
 * entry; an entry matches in any position, also unclosed or directly after a word.
 */
export const CLIENT_TAGS: ReadonlySet<string> = new Set([
  ...['systemreminder', 'systemmessage', 'systemnotification', 'systemprompt', 'system', 'reminder'],
  ...['tasknotification', 'taskid', 'channel', 'event', 'hook', 'hookprompt', 'skill'],
  ...['commandname', 'commandmessage', 'commandargs', 'commandcontents', 'localcommandstdout'],
  ...['localcommandstderr', 'localcommandcaveat', 'bashinput', 'bashstdout', 'bashstderr'],
  ...['userpromptsubmithook', 'userinstructions', 'useraction', 'usermemoryinput', 'usermessage'],
  ...['userquery', 'environmentcontext', 'permissions', 'permissionsinstructions', 'turnaborted'],
  ...[
    'subagentnotification',
    'teammatemessage',
    'crosssessionmessage',
    'interagentmessage',
    'newdiagnostics',
  ],
  ...['persistedoutput', 'ideselection', 'ideopenedfile', 'idediagnostics', 'mcpservernote', 'mcpresource'],
  ...['toolresult', 'tooluse', 'tooluseid', 'tooluseerror', 'toolcall', 'toolcalls', 'toolresponse'],
  ...['functioncall', 'functioncalls', 'functionresult', 'functionresults', 'function', 'invoke'],
  ...['parameter', 'thinking', 'think', 'instructions', 'collaborationmode', 'antml'],
  ...['human', 'assistant', 'developer', 'sys', 'inst'],
])

/** Maximum length including separators. A longer name does not match. */
export const CLIENT_TAG_LENGTH_MAX = 64

/** Names of hook events, in lower case. */
export const HOOK_EVENTS: readonly string[] = [
  ...['stop', 'stopfailure', 'subagentstop', 'subagentstart', 'notification', 'setup', 'elicitation'],
  ...['userpromptsubmit', 'userpromptexpansion', 'pretooluse', 'posttooluse', 'posttoolusefailure'],
  ...['posttoolbatch', 'permissionrequest', 'permissiondenied', 'precompact', 'postcompact'],
  ...['sessionstart', 'sessionend', 'messagedisplay', 'instructionsloaded', 'configchange', 'cwdchanged'],
  ...['filechanged', 'taskcreated', 'taskcompleted', 'teammateidle', 'worktreecreate', 'worktreeremove'],
]

/** First words after `hook` in the messages of clients: `Stop hook feedback: …`. */
export const HOOK_OUTCOMES =
  'feedback|blocking|additional|success|succeeded|error|errors|fail|failed|failure|warning|output|stopped|denied|blocked|cancelled|canceled|timed|completed|progress|response'

/** Sentences by which Claude Code introduces the words of others or reports its user's actions. */
export const CLIENT_SENTENCES = [
  'another claude session sent a message',
  'the user sent a new message while',
  'the user sent the following message',
  'caveat: the messages below were',
] as const
