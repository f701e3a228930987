/** Who answers, as MCP tells it. */
export function serverInfo(version: string) {
  return { name: 'turnbell', title: 'turnbell', version }
}
