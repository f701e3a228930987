/** Name and version of the MCP server. */
export function serverInfo(version: string) {
  return { name: 'turnbell', title: 'turnbell', version }
}
