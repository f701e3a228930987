/** The product's hub with another disk, which the product itself cannot be configured to use. */
import { main } from '../../src/hub/main.ts'
import { systemDisk, type Disk } from '../../src/storage/file/journal/disk.ts'
import { openStores } from '../../src/storage/open.ts'

/** `changed` are the operations that differ from the system's disk. */
export async function hubOver(changed: Partial<Disk>): Promise<void> {
  const disk = { ...systemDisk, ...changed }
  await main(process.argv.slice(2), (uri, options) => openStores(uri, { ...options, disk }))
}
