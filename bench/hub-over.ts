/** The product's hub, the same code but for its disk. Nothing that the product reads can put another one there. */
import { main } from '../src/hub/main.ts'
import { systemDisk, type Disk } from '../src/storage/file/disk.ts'
import { openStores } from '../src/storage/open.ts'

/** `changed`: what this disk does otherwise than the system's. */
export async function hubOver(changed: Partial<Disk>): Promise<void> {
  const disk = { ...systemDisk, ...changed }
  await main(process.argv.slice(2), (uri, options) => openStores(uri, { ...options, disk }))
}
