/*
 * Where a bare-metal guest begins: PVH (Xen's x86/HVM direct boot ABI), 32-bit protected mode,
 * paging off, ebx = start info. And where its other processors begin, in real mode.
 */
    .set STACK_BYTES, 4096

    .section .note.pvh, "a", @note
    .long 4, 4, 18          /* XEN_ELFNOTE_PHYS32_ENTRY */
    .asciz "Xen"
    .long guest_start

    .section .text.start, "ax", @progbits
    .globl guest_start
guest_start:
    cli
    cld
    movl $guest_stack_end, %esp
    xorl %ebp, %ebp
    pushl %ebx
    call guest_main
1:  hlt
    jmp 1b

    /* Copied to 0x1000, where a start-up IPI of vector 1 enters it; each takes a stack. */
    .section .rodata.second, "a", @progbits
    .globl second_begin, second_end
    .code16
second_begin:
    cli
    xorw %ax, %ax
    movw %ax, %ds
    lgdtl 0x1000 + (second_gdtr - second_begin)
    movl %cr0, %eax
    orb $1, %al
    movl %eax, %cr0
    ljmpl $8, $second_protected
    .balign 8
second_gdt:
    .quad 0
    .quad 0x00cf9b000000ffff
    .quad 0x00cf93000000ffff
second_gdtr:
    .word 23
    .long 0x1000 + (second_gdt - second_begin)
second_end:

    .code32
    .text
second_protected:
    movw $16, %ax
    movw %ax, %ds
    movw %ax, %es
    movw %ax, %ss
    movl $-STACK_BYTES, %eax
    lock xaddl %eax, second_stack
    movl %eax, %esp
    call second_main
1:  hlt
    jmp 1b

    .bss
    .balign 16
    .skip 16384
guest_stack_end:
    .skip 7 * STACK_BYTES   /* of all the others that a machine may have */
second_stack_end:
    .data
    .balign 4
second_stack:
    .long second_stack_end
    .section .note.GNU-stack, "", @progbits
